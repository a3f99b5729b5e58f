import { hostname } from 'node:os';
import { CaissonError, hasCode, type Id, type SupportFailure, type WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { Turns } from '../../turns/turns.ts';
import type {
  BackendImage,
  Capabilities,
  CreateRequest,
  Driver,
  Inspection,
  Instance,
  InstanceKey,
  InstanceMeter,
  InstanceStats,
  Listing,
  Probe,
} from '../driver.ts';
import { AccountFiles } from './account-files.ts';
import { askedRuntime, requireRuntime } from './asked-runtime.ts';
import { type ContainerConfig, containerConfig, environmentMark, ownerOf } from './container-config.ts';
import { Containers } from './containers.ts';
import { type EndpointOptions, parseEndpoint, remoteHost } from './endpoint.ts';
import { Engine } from './engine.ts';
import type { Container } from './engine-answers.ts';
import { allLimits, engineCapabilities } from './engine-capabilities.ts';
import type { EngineFacts } from './engine-facts.ts';
import { EngineImages } from './engine-images.ts';
import { type EngineKind, engineKinds } from './engine-kind.ts';
import { EngineSnapshots, type NamedImage } from './engine-snapshots.ts';
import { GuestLinks } from './guest-links.ts';
import { GuestVolume } from './guest-volume.ts';
import { howItStands } from './how-it-stands.ts';
import { InstanceEnds } from './instance-ends.ts';
import { type InstanceNames, isKept, keyOf, namesOf } from './instance-name.ts';
import { KeptContainers } from './kept-containers.ts';
import { KnownEngine } from './known-engine.ts';
import { lacksProgram, launch } from './launch.ts';
import { SecretFile } from './secret-file.ts';
import { WorkspaceVolumes } from './workspace-volume.ts';

/** What a sandbox's last words may be. */
const logLines = 100;
/** An engine that just did not answer hardly will now, and somebody waits to hear of it. */
const awayMs = 2_000;
const never = new AbortController().signal;

export interface DockerOptions extends EndpointOptions {
  readonly kind?: EngineKind['name'];
  /** Where the engine is; the kind's own place when absent. */
  readonly host?: string | undefined;
  /** For what is not on the engine: the secrets of guests. */
  readonly folder: string;
  readonly guestProgram: string;
  readonly installation: string;
}

/**
 * Sandboxes as containers of an engine that speaks the Engine API: Docker, and Podman. The engine may be elsewhere: all
 * that is asked of it goes through its API, and the channel to a guest is the stream of a program that the engine runs.
 *
 * What there is of an instance is its container, which its name makes the only one, and a file with its guest's secrets.
 */
export class DockerDriver implements Driver {
  readonly name: string;
  readonly host?: string;
  /** A limit to its disk is to be had from few engines. */
  get capabilities(): Capabilities {
    return this.#known.limitsDisk ? { ...engineCapabilities, limits: allLimits } : engineCapabilities;
  }

  onEnded: ((key: InstanceKey) => void) | undefined;
  onGuest: ((key: InstanceKey, guest: GuestClient) => void) | undefined;
  readonly #kind: EngineKind;
  readonly #options: DockerOptions;
  readonly #engine: Engine;
  readonly #known: KnownEngine;
  readonly #containers: Containers;
  readonly #images: EngineImages;
  readonly #snapshots: EngineSnapshots;
  readonly #kept: KeptContainers;
  readonly #volume: GuestVolume;
  readonly #accounts: AccountFiles;
  readonly #links: GuestLinks;
  readonly #ends: InstanceEnds;
  readonly #turns = new Turns();

  constructor(options: DockerOptions) {
    const kind = engineKinds[options.kind ?? 'docker'];
    this.#kind = kind;
    this.name = kind.name;
    this.#options = options;
    const endpoint = parseEndpoint(options.host ?? kind.host(process.env), options);
    const elsewhere = remoteHost(endpoint);
    if (elsewhere !== undefined) this.host = elsewhere;
    this.#engine = new Engine(endpoint, kind.dialStdio);
    this.#known = new KnownEngine(this.#engine, kind);
    this.#containers = new Containers(this.#engine);
    this.#images = new EngineImages(this.#engine, options.installation);
    this.#snapshots = new EngineSnapshots(this.#images, this.#containers, options.installation);
    this.#kept = new KeptContainers(this.#containers, this.#snapshots);
    this.#volume = new GuestVolume(this.#engine, options.guestProgram, options.installation);
    this.#accounts = new AccountFiles(this.#engine);
    this.#links = new GuestLinks({
      containers: this.#containers,
      accounts: this.#accounts,
      secrets: (names) => this.#secrets(names),
      onGuest: (key, client) => this.onGuest?.(key, client),
      onEnded: (key) => {
        if (!this.#turns.isTaken(namesOf(key).name)) this.onEnded?.(key);
      },
    });
    this.#ends = new InstanceEnds({
      containers: this.#containers,
      snapshots: this.#snapshots,
      kept: this.#kept,
      workspaces: new WorkspaceVolumes(this.#engine),
      links: this.#links,
      secrets: (names) => this.#secrets(names),
    });
  }

  /** An engine that is away now may come back: the server starts without it. */
  async open(signal: AbortSignal): Promise<void> {
    await this.#known.learn(signal).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#links.close();
    this.#engine.close();
  }

  probe(signal: AbortSignal): Promise<Probe> {
    return this.#known.probe(signal);
  }

  supports(blueprint: WorkspaceBlueprint): readonly SupportFailure[] {
    return this.#known.supports(blueprint);
  }

  create(request: CreateRequest, signal: AbortSignal): Promise<Instance> {
    return this.#create(request, undefined, signal);
  }

  /** With `image` from that one, in place of the one that is asked for. */
  #create(request: CreateRequest, image: NamedImage | undefined, signal: AbortSignal): Promise<Instance> {
    const names = namesOf(request.key);
    return this.#turns.take(names.name, signal, async (own) => {
      const facts = await this.#known.fit(own);
      const present = await this.#containers.inspect(names.container, own);
      if (present?.State.Running && this.#secrets(names).read()?.ready) {
        if (!present.State.Paused) await this.#links.open(request.key).connected(own);
        return this.#instance(request);
      }
      try {
        await this.#begin(request, image, names, present, facts, own).catch(async (error) => {
          // Somebody removed the volume of the guest, and the engine has put an empty one in its place.
          if (!lacksProgram(error)) throw error;
          const left = await this.#containers.inspect(names.container, own);
          await this.#begin(request, image, names, left, facts, own);
        });
        return this.#instance(request);
      } catch (error) {
        // The first failure is the one to tell; what cannot be removed now is listed, and found there.
        const patience = hasCode(error, 'driver_timeout', 'driver_unavailable') ? AbortSignal.timeout(awayMs) : never;
        await (request.fromKept ? this.#ends.keep(names, patience) : this.#ends.remove(names, patience)).catch(
          () => {},
        );
        throw error;
      }
    });
  }

  /** From what was kept, where that is asked for and there is something; else from the image. */
  async #begin(
    request: CreateRequest,
    given: NamedImage | undefined,
    names: InstanceNames,
    present: Container | undefined,
    facts: EngineFacts,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#links.drop(names);
    const mark = environmentMark(request);
    const kept = request.fromKept ? await this.#kept.take(names, present, mark, signal) : undefined;
    const container = kept && 'container' in kept ? kept.container : undefined;
    const put = kept && 'image' in kept ? kept.image : undefined;
    // What is left of one that ended, or was never finished, is in the way.
    if (!container && present) await this.#containers.remove(names.container, signal);
    const from = put ?? given;
    const image = container?.Image ?? from?.reference ?? request.image?.reference;
    if (image === undefined) throw new CaissonError('internal', 'a container needs an image');
    const filter = await this.#volume.ensure(image, signal);
    const runtime = askedRuntime(request.blueprint);
    const config = containerConfig({
      request,
      image,
      imageEnv: from?.env,
      volume: this.#volume.name,
      runtime,
      processors: facts.processors,
      environment: this.#kind.environment,
      securityOptions: this.#kind.securityOptions(filter),
    });
    await launch({
      names,
      containers: this.#containers,
      secrets: this.#secrets(names),
      make: container ? undefined : () => this.#make(request, image, config, facts, signal),
      check: async () => {
        await requireRuntime(this.#engine, this.#kind, names.container, runtime, signal);
        await this.#accounts.require(names.container, signal, container ? undefined : image);
      },
      openLink: () => this.#links.open(request.key, { isFresh: true }),
      signal,
    }).catch((error) => {
      // Somebody may have removed the guest program: the next one looks.
      this.#volume.forget();
      throw error;
    });
    if (put !== undefined) await this.#snapshots.forgetKept(names, signal);
  }

  #make(
    request: CreateRequest,
    image: string,
    config: ContainerConfig,
    facts: EngineFacts,
    signal: AbortSignal,
  ): Promise<void> {
    const { diskMiB } = request.resources ?? request.blueprint.runtime.resources;
    const wanted = { diskMiB, imageBytes: () => this.#images.bytes(image, signal) };
    return this.#known.disk.apply(facts, wanted, (storage) => {
      const HostConfig = { ...config.HostConfig, ...storage };
      return this.#containers.create(namesOf(request.key).container, { ...config, HostConfig }, signal);
    });
  }

  async inspect(key: InstanceKey, signal: AbortSignal): Promise<Inspection> {
    signal.throwIfAborted();
    const names = namesOf(key);
    try {
      const found = await this.#containers.inspect(names.container, signal);
      return found ? howItStands(found.State, this.#isCutShort(names)) : { status: 'gone' };
    } catch (error) {
      signal.throwIfAborted();
      return { status: 'unknown', message: (error as Error).message };
    }
  }

  /** One whose secrets this server does not have may be well all the same. */
  #isCutShort(names: InstanceNames): boolean {
    return this.#secrets(names).read()?.ready === false;
  }

  async destroy(key: InstanceKey, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const names = namesOf(key);
    this.#turns.interrupt(names.name, new CaissonError('action_cancelled', `${names.name} is being destroyed`));
    await this.#turns.take(names.name, signal, () => this.#ends.remove(names, signal));
  }

  async list(signal: AbortSignal): Promise<Listing> {
    await this.#known.fit(signal);
    const instances: Listing['instances'][number][] = [];
    const orphans: Listing['orphans'][number][] = [];
    const label = [`caisson.installation=${this.#options.installation}`];
    for (const { Names, Labels, State } of await this.#containers.list({ label }, signal)) {
      const container = (Names?.[0] ?? '').replace(/^\//, '');
      if (isKept(container)) continue;
      const key = keyOf(container);
      const owner = key && ownerOf(Labels ?? {});
      if (!key || !owner) {
        orphans.push({ backendName: container, labels: Labels ?? {}, ...(key ? { key } : {}) });
        continue;
      }
      const names = namesOf(key);
      const paused = State === 'paused';
      const ended = (State !== 'running' && !paused) || this.#isCutShort(names);
      instances.push({ key, owner, labels: Labels ?? {}, ended, ...(paused && !ended ? { paused } : {}) });
      // One that somebody is at work on gets its link from them.
      if (!ended && !this.#turns.isTaken(names.name)) this.#links.open(key);
    }
    return { instances, orphans };
  }

  async guest(key: InstanceKey, signal: AbortSignal): Promise<GuestClient> {
    signal.throwIfAborted();
    const present = this.#links.get(namesOf(key));
    if (present) return present.client;
    await this.#require(key, signal);
    return this.#links.open(key).client;
  }

  async pause(key: InstanceKey, signal: AbortSignal): Promise<void> {
    if ((await this.#require(key, signal)).State.Paused) return;
    const { container } = namesOf(key);
    try {
      await this.#containers.pause(container, signal);
    } catch (error) {
      // One that counts as running must not stand still.
      await this.#containers.unpause(container, never).catch(() => {});
      throw error;
    }
  }

  async resume(key: InstanceKey, signal: AbortSignal): Promise<void> {
    const names = namesOf(key);
    if ((await this.#require(key, signal)).State.Paused) await this.#containers.unpause(names.container, signal);
    this.#links.get(names)?.wake();
  }

  async halt(key: InstanceKey, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const names = namesOf(key);
    this.#turns.interrupt(names.name, new CaissonError('action_cancelled', `${names.name} is being stopped`));
    await this.#turns.take(names.name, signal, () => this.#ends.keep(names, signal));
  }

  async stats(key: InstanceKey, signal: AbortSignal): Promise<InstanceStats> {
    await this.#require(key, signal);
    return this.#containers.stats(namesOf(key).container, signal);
  }

  async meter(key: InstanceKey, signal: AbortSignal): Promise<InstanceMeter> {
    const { State } = await this.#require(key, signal);
    const { cpuSeconds } = await this.stats(key, signal);
    return { cpuSeconds, wallSeconds: Math.max(0, Date.now() - Date.parse(State.StartedAt)) / 1000 };
  }

  async logs(key: InstanceKey, signal: AbortSignal): Promise<readonly string[]> {
    const names = namesOf(key);
    if (!(await this.#containers.inspect(names.container, signal))) throw lost(names.name);
    return this.#containers.logs(names.container, logLines, signal);
  }

  snapshot(key: InstanceKey, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    return this.#snapshots.take(namesOf(key), snapshot, signal);
  }

  async rollback(key: InstanceKey, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    const names = namesOf(key);
    await this.#turns.take(names.name, signal, async (own) => {
      await this.#snapshots.keep(names, snapshot, own);
      await this.#ends.removeContainers(names, own);
    });
  }

  async fork(snapshot: Id<'snapshot'>, request: CreateRequest, signal: AbortSignal): Promise<Instance> {
    return this.#create(request, await this.#snapshots.require(snapshot, signal), signal);
  }

  removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    return this.#snapshots.remove(snapshot, signal);
  }

  listSnapshots(signal: AbortSignal): Promise<readonly Id<'snapshot'>[]> {
    return this.#snapshots.list(signal);
  }

  findImage(reference: string, signal: AbortSignal): Promise<BackendImage | undefined> {
    return this.#images.find(reference, signal);
  }

  loadImage(archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    return this.#images.load(archive, signal);
  }

  removeImage(reference: string, signal: AbortSignal): Promise<boolean> {
    return this.#images.remove(reference, signal);
  }

  async #require(key: InstanceKey, signal: AbortSignal): Promise<Container> {
    const { container, name } = namesOf(key);
    const found = await this.#containers.inspect(container, signal);
    if (!found?.State.Running) throw lost(name);
    return found;
  }

  #secrets(names: InstanceNames): SecretFile {
    return new SecretFile(this.#options.folder, names.name);
  }

  #instance({ key, owner, blueprint }: CreateRequest): Instance {
    return { key, owner, host: this.host ?? hostname(), notices: this.#known.notices(blueprint) };
  }
}

function lost(name: string): CaissonError {
  return new CaissonError('instance_lost', `there is no instance ${name} that runs`);
}
