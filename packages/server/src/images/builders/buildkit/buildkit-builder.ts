import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { CaissonError, type NetworkRules, type Owner } from '@caisson/contract';
import type { Images } from '../../images.ts';
import { buildSpec } from '../../plan/build-spec.ts';
import { type BuildStep, buildSteps } from '../../plan/build-steps.ts';
import { fromRecord, type Workshop } from '../../ways/workshop.ts';
import { baseOfPlan } from '../base-of-plan.ts';
import type { Builder, BuilderTrouble, BuildRequest, BuiltImage } from '../builder.ts';
import { builtImage, requirePlatform } from '../image-of-plan.ts';
import { findInLayers } from '../installed-packages.ts';
import { type KeptImage, KeptSteps } from '../kept-steps.ts';
import { planKey } from '../step-key.ts';
import { translated } from './build-failure.ts';
import type { BuildPlace } from './build-place.ts';
import { workers } from './control.ts';
import { GrpcClient } from './grpc/client.ts';
import { type BuildLimits, runBuild } from './run-build.ts';
import { type ContextEntry, folderEntries } from './session/context-tree.ts';
import { runByGuest, runnerFiles, type StepProxy, type StepTrust } from './step-runner.ts';
import { takeResult } from './take-result.ts';

/** Those of a distribution are 200 to 500 KiB. */
const maxRootBytes = 1024 ** 2;

/** The way out of one build, for as long as it lasts. */
export interface BuildWay {
  connect(kind: 'http' | 'socks', stream: Duplex): void;
  close(): void;
}

export interface BuildkitParts {
  readonly images: Images;
  readonly place: BuildPlace;
  readonly proxy: StepProxy;
  readonly trust?: StepTrust | undefined;
  readonly openWay: (owner: Owner, rules: NetworkRules) => BuildWay;
  readonly limits?: Partial<BuildLimits> | undefined;
}

export const defaultBuildLimits: BuildLimits = {
  stepMs: 30 * 60_000,
  logBytes: 8 * 1024 ** 2,
  patienceMs: 30_000,
};

/**
 * Builds with BuildKit, whatever runs it. Its steps have no network: what they may reach they reach through the session,
 * by the same rules and the same gate as a sandbox. The base comes from here and the result comes back, so BuildKit needs
 * no registry, and what it built is launched like every other image.
 */
export class BuildkitBuilder implements Builder {
  readonly name = 'buildkit';
  readonly #parts: BuildkitParts;
  readonly #limits: BuildLimits;

  constructor(parts: BuildkitParts) {
    this.#parts = parts;
    this.#limits = { ...defaultBuildLimits, ...parts.limits };
  }

  async probe(signal: AbortSignal): Promise<BuilderTrouble | undefined> {
    const { place } = this.#parts;
    try {
      const client = new GrpcClient(await place.connect(signal), this.#limits.patienceMs);
      try {
        await workers(client, signal);
        return undefined;
      } finally {
        client.close();
      }
    } catch (error) {
      return { why: translated(error, place.where).message, fix: place.fix };
    }
  }

  async build(request: BuildRequest): Promise<BuiltImage> {
    const { plan, owner, rules, signal, tell } = request;
    signal.throwIfAborted();
    const workshop = await this.#parts.images.workshop();
    const kept = new KeptSteps(workshop);
    const steps = buildSteps(plan);
    const key = `buildkit-${planKey(plan, steps, { tenant: owner.tenant, rules })}`;
    const known = await kept.image(key);
    if (known !== undefined) {
      for (const { id, title } of steps) {
        tell({ kind: 'step-began', step: id, title });
        tell({ kind: 'step-ended', step: id, outcome: 'cached', ms: 0 });
      }
      return builtImage(known, workshop);
    }
    requirePlatform(request);
    const image = await workshop.drafts.use((draft) => this.#make(request, steps, workshop, draft));
    await kept.keepImage(key, image);
    return builtImage(image, workshop);
  }

  async #make(
    request: BuildRequest,
    steps: readonly BuildStep[],
    workshop: Workshop & { readonly guestProgram: string },
    draft: string,
  ): Promise<KeptImage> {
    const { plan, owner, rules, signal, tell } = request;
    const { place, proxy, trust, images } = this.#parts;
    const progress = (line: string) => tell({ kind: 'output', step: 'base', text: `${line}\n` });
    const base = await baseOfPlan(plan, images, signal, progress);
    const brought = await place.bring(fromRecord(base, workshop), signal, progress);
    const file = join(draft, 'image.tar');
    const surroundings = { baseLines: brought.lines, runBy: runByGuest(proxy) };
    const trusted = trust && { of: trust, roots: await rootsOf(fromRecord(base, workshop).layers) };
    const runner = runnerFiles(await readFile(workshop.guestProgram), proxy, { owner, rules }, trusted);
    const copied = await contextOf(request, steps, workshop.bounds.layerEntries);
    const name = place.newName();
    const way = this.#parts.openWay(owner, rules);
    let isMade = false;
    try {
      await runBuild({
        place,
        spec: buildSpec(plan, { kind: 'oci-archive', path: file }, surroundings),
        steps,
        entries: [...brought.entries, ...runner, ...copied],
        base: brought,
        connect: { http: (stream) => way.connect('http', stream), socks: (stream) => way.connect('socks', stream) },
        ...{ name, file, limits: this.#limits, signal, tell },
      });
      isMade = true;
      await place.collect({ name, file }, signal);
      return await takeResult({ plan, base, baseLayers: brought.layerCount, file, workshop, signal });
    } finally {
      way.close();
      const discarded = place.discard(name);
      // What failed left nothing, unless it was cancelled at its very end: nobody need wait for an engine that is away.
      if (isMade) await discarded;
    }
  }
}

/** The roots of trust that a base has. Whoever shaped it shaped them too. */
async function rootsOf(layers: readonly string[]): Promise<string | undefined> {
  const file = await findInLayers(layers, 'etc/ssl/certs/ca-certificates.crt');
  if (file === undefined || (await lstat(file)).size > maxRootBytes) return undefined;
  return readFile(file, 'latin1');
}

/** What `copy` steps bring in. A folder that is missing would be found by BuildKit; here its step is known. */
async function contextOf(
  { context }: BuildRequest,
  steps: readonly BuildStep[],
  most: number,
): Promise<ContextEntry[]> {
  const copies = steps.flatMap((step) => (step.kind === 'copy' ? [step] : []));
  if (copies.length === 0) return [];
  const all = context === undefined ? [] : await folderEntries(context, most);
  // What an archive of a layer says with such a name is that something else is gone.
  const mark = all.find(({ path }) => path.split('/').at(-1)?.startsWith('.wh.'));
  if (mark !== undefined)
    throw new CaissonError(
      'unsupported-runtime-requirement',
      `BuildKit cannot bring in a file named \`${mark.path}\``,
      {
        hint: 'Rename it, or build with the native builder: `--builder native`.',
      },
    );
  const missing = copies.find(({ from }) => !all.some(({ path, kind }) => path === from && kind === 'folder'));
  if (missing !== undefined)
    throw new CaissonError('build_failed', `${missing.from} is not in the build context`, {
      context: { step: missing.id },
    });
  return all.filter(({ path }) => copies.some(({ from }) => path === from || path.startsWith(`${from}/`)));
}
