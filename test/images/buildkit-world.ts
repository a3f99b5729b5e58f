import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { NetworkRules } from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import { buildGuest } from '../../packages/guest/build.mjs';
import { parseEndpoint } from '../../packages/server/src/drivers/docker/endpoint.ts';
import { Engine } from '../../packages/server/src/drivers/docker/engine.ts';
import { defaultBounds } from '../../packages/server/src/images/bounds.ts';
import type { BuildEvent, BuiltImage } from '../../packages/server/src/images/builders/builder.ts';
import type { BuildPlace } from '../../packages/server/src/images/builders/buildkit/build-place.ts';
import {
  BuildkitBuilder,
  type BuildkitParts,
} from '../../packages/server/src/images/builders/buildkit/buildkit-builder.ts';
import { EnginePlace } from '../../packages/server/src/images/builders/buildkit/engine-place.ts';
import { type BaseImage, Images } from '../../packages/server/src/images/images.ts';
import { Packer } from '../../packages/server/src/images/pack/packer.ts';
import { MachineResolver } from '../../packages/server/src/network/dial/machine-resolver.ts';
import { EgressGates } from '../../packages/server/src/network/proxy/egress-gates.ts';
import { proxyEnv, proxyPorts } from '../../packages/server/src/network/proxy-ports.ts';
import { ClosedAddresses } from '../../packages/server/src/network/rules/closed-addresses.ts';
import { buildWays } from '../../packages/server/src/sandbox/building/build-ways.ts';
import { RoomSubjects } from '../../packages/server/src/sandbox/building/room-subjects.ts';
import { testDebianBase, testImagesFolder } from '../debian-base.ts';
import { BuildWorld, noNetwork, owner } from './build-world.ts';

/** The builder with an engine of somebody's, whose Debian is that of all tests; what it builds is its own. */
export class BuildkitWorld {
  readonly folder: string;
  readonly base: BaseImage;
  readonly images: Images;
  readonly engine: Engine;
  readonly gates: EgressGates;
  readonly decided: { host: string; verdict: string; why?: string | undefined }[] = [];
  readonly packer = new Packer(buildGuest({ quiet: true }), defaultBounds);
  /** In place of the engine's. */
  place: BuildPlace | undefined;
  trust: BuildkitParts['trust'];
  readonly #native: BuildWorld;
  #small: Promise<string> | undefined;
  readonly #subjects = new RoomSubjects({ find: async () => undefined });

  private constructor(folder: string, base: BaseImage, host: string, opened: readonly string[]) {
    this.folder = folder;
    this.base = base;
    this.#native = new BuildWorld(folder, base);
    this.images = new Images({ folder: join(folder, 'images'), guestProgram: buildGuest({ quiet: true }) });
    this.engine = new Engine(parseEndpoint(host), []);
    this.gates = new EgressGates({
      subjects: this.#subjects,
      journal: { decided: (decision) => void this.decided.push(decision), moved() {}, total: async () => 0 },
      secrets: undefined,
      resolver: new MachineResolver(),
      closed: new ClosedAddresses(opened),
      log: { warn() {} },
    });
  }

  /** `opened`: private addresses that its steps may reach. */
  static async open(host: string, opened: readonly string[] = []): Promise<BuildkitWorld> {
    const base = await testDebianBase();
    const world = new BuildkitWorld(mkdtempSync(join(tmpdir(), 'caisson-buildkit-')), base, host, opened);
    await world.#bringBase();
    return world;
  }

  builder(limits: BuildkitParts['limits'] = {}): BuildkitBuilder {
    this.place ??= new EnginePlace(this.engine, this.packer, 'test');
    return new BuildkitBuilder({
      images: this.images,
      place: this.place,
      proxy: { ports: proxyPorts, env: proxyEnv },
      trust: this.trust,
      openWay: buildWays(this.gates, this.#subjects),
      limits,
    });
  }

  async build(
    plan: ResolvedImagePlan,
    options: {
      rules?: NetworkRules;
      signal?: AbortSignal;
      context?: string;
      tenant?: string;
      limits?: BuildkitParts['limits'];
      tell?: (event: BuildEvent) => void;
    } = {},
  ): Promise<{ image: BuiltImage; events: BuildEvent[] }> {
    const events: BuildEvent[] = [];
    const tell = (event: BuildEvent) => {
      events.push(event);
      options.tell?.(event);
    };
    const {
      rules = noNetwork,
      signal = new AbortController().signal,
      context,
      tenant = owner.tenant,
      limits,
    } = options;
    const request = { plan, owner: { ...owner, tenant }, rules, signal, context, tell };
    return { image: await this.builder(limits).build(request), events };
  }

  /** The same on what an engine for tests has, which is small; its steps are done in a moment. */
  async smallPlan(setup: Parameters<BuildWorld['plan']>[0]): Promise<ResolvedImagePlan> {
    this.#small ??= this.#bringTools();
    const base = { kind: 'oci-archive', reference: 'docker-archive:/tools.tar', digest: await this.#small } as never;
    return this.plan(setup, { os: { family: 'image' }, base });
  }

  /** A plan on Debian with these setup steps. */
  plan(setup: Parameters<BuildWorld['plan']>[0], more: Partial<ResolvedImagePlan> = {}): ResolvedImagePlan {
    return this.#native.plan(setup, more);
  }

  async close(): Promise<void> {
    await this.gates.close();
    this.engine.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #bringTools(): Promise<string> {
    const signal = AbortSignal.timeout(60_000);
    const file = join(this.folder, 'tools.tar');
    const archive = await this.engine.download('/images/localhost%2Ftools:latest/get', { signal });
    await pipeline(archive, createWriteStream(file));
    const reference = `docker-archive:${file}`;
    return (await this.images.resolve({ family: 'image', mode: 'require', reference }, { signal })).digest;
  }

  /** Its layers are linked, not copied: they never change. A link to their folder is none that is packed. */
  async #bringBase(): Promise<void> {
    const images = join(this.folder, 'images');
    for (const name of ['layers', 'images', 'bases', 'making']) mkdirSync(join(images, name), { recursive: true });
    for (const name of this.base.layers.map((layer) => layer.split('/').at(-1) ?? ''))
      execFileSync('cp', ['-a', '--link', join(testImagesFolder, 'layers', name), join(images, 'layers')]);
    for (const kind of ['images', 'bases'])
      for (const name of readdirSync(join(testImagesFolder, kind)))
        await copyFile(join(testImagesFolder, kind, name), join(images, kind, name));
  }
}
