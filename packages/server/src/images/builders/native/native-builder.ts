import { CaissonError } from '@caisson/contract';
import { canonicalJson } from '@caisson/workspace-composition';
import { digestOf } from '../../digest.ts';
import type { ImageRecord } from '../../image-records.ts';
import type { Images } from '../../images.ts';
import { Packer } from '../../pack/packer.ts';
import { type BuildStep, buildSteps } from '../../plan/build-steps.ts';
import { SharedWork } from '../../shared-work.ts';
import { baseOfPlan } from '../base-of-plan.ts';
import type { Builder, BuilderTrouble, BuildRequest, BuiltImage } from '../builder.ts';
import { builtImage, imageOfPlan, requirePlatform } from '../image-of-plan.ts';
import { type KeptImage, KeptSteps } from '../kept-steps.ts';
import { asStepError } from '../step-failure.ts';
import { planKey, stepKey } from '../step-key.ts';
import { contentOf, doStep, type StepLimits, type StepParts } from './do-step.ts';
import type { StepRoom, StepRooms } from './step-room.ts';

export const defaultStepLimits: StepLimits = {
  stepMs: 30 * 60_000,
  logBytes: 8 * 1024 ** 2,
  diskBytes: 10 * 1024 ** 3,
};

export interface NativeBuilderParts {
  readonly images: Images;
  readonly rooms: StepRooms;
  readonly limits?: Partial<StepLimits> | undefined;
}

/** What a build works with while it lasts. */
interface Workbench extends StepParts {
  readonly kept: KeptSteps;
}

/**
 * Builds with nothing but what runs sandboxes here: each step in a room on the layers so far, and what it changed is the
 * next layer. Files keep the times that a step gave them, because programs compare those with what they wrote elsewhere;
 * what a step copies in has one time and one owner, and so the same name whoever fetched it.
 */
export class NativeBuilder implements Builder {
  readonly name = 'native';
  readonly #parts: NativeBuilderParts;
  readonly #working = new SharedWork<string | null>();
  /** Rooms that are being ended. */
  readonly #ending = new Set<Promise<void>>();
  #workbench: Workbench | undefined;

  constructor(parts: NativeBuilderParts) {
    this.#parts = parts;
  }

  /** The same with other limits. */
  withLimits(limits: Partial<StepLimits>): NativeBuilder {
    return new NativeBuilder({ ...this.#parts, limits: { ...this.#parts.limits, ...limits } });
  }

  probe(signal: AbortSignal): Promise<BuilderTrouble | undefined> {
    return this.#parts.rooms.probe(signal);
  }

  async build(request: BuildRequest): Promise<BuiltImage> {
    const { plan, owner, rules, signal } = request;
    signal.throwIfAborted();
    const workbench = await this.#openWorkbench();
    const steps = buildSteps(plan);
    const key = planKey(plan, steps, { tenant: owner.tenant, rules });
    const known = await workbench.kept.image(key);
    if (known !== undefined) {
      for (const { id, title } of steps) {
        request.tell({ kind: 'step-began', step: id, title });
        request.tell({ kind: 'step-ended', step: id, outcome: 'cached', ms: 0 });
      }
      return builtImage(known, workbench.workshop);
    }
    requirePlatform(request);
    const held: (() => void)[] = [];
    // However long it takes: until its record names them, nothing else does.
    const hold = (digests: readonly string[]) => held.push(workbench.workshop.inUse.hold(digests));
    try {
      const image = await this.#make(workbench, request, steps, hold);
      await workbench.kept.keepImage(key, image);
      return builtImage(image, workbench.workshop);
    } finally {
      for (const release of held) release();
      await Promise.all(this.#ending);
    }
  }

  async #openWorkbench(): Promise<Workbench> {
    if (this.#workbench !== undefined) return this.#workbench;
    const { images, rooms, limits } = this.#parts;
    const workshop = await images.workshop();
    this.#workbench = {
      rooms,
      workshop,
      packer: new Packer(workshop.guestProgram, workshop.bounds),
      limits: { ...defaultStepLimits, ...limits },
      kept: new KeptSteps(workshop),
      release: (room) => this.#end(room),
    };
    return this.#workbench;
  }

  #end(room: StepRoom): void {
    const ending = room.dispose().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #make(
    workbench: Workbench,
    request: BuildRequest,
    steps: readonly BuildStep[],
    hold: (digests: readonly string[]) => void,
  ): Promise<KeptImage> {
    const base = await this.#base(request);
    const diffIds = [...base.diffIds];
    hold([base.digest, ...diffIds]);
    for (const step of steps) {
      if (diffIds.length >= workbench.workshop.bounds.layers)
        throw tooManyLayers(step, workbench.workshop.bounds.layers);
      const layer = await this.#step(workbench, request, base, diffIds, step);
      if (layer === null) continue;
      hold([layer]);
      diffIds.push(layer);
    }
    return imageOfPlan(request.plan, base, diffIds, workbench.workshop);
  }

  /** It is a step of its own where there is something to do for it. */
  async #base({ plan, signal, tell }: BuildRequest): Promise<ImageRecord> {
    const { reference } = plan.base;
    const head = { kind: 'copy', id: 'base', title: `the base ${reference}` } as const;
    const step: BuildStep = { ...head, from: reference, to: '/', content: plan.base.digest };
    let began: number | undefined;
    const ended = (outcome: 'done' | 'failed') => {
      if (began === undefined) return;
      tell({ kind: 'step-ended', step: step.id, outcome, ms: Math.round(performance.now() - began) });
    };
    const progress = (line: string) => {
      if (began === undefined) tell({ kind: 'step-began', step: step.id, title: step.title });
      began ??= performance.now();
      tell({ kind: 'output', step: step.id, text: `${line}\n` });
    };
    try {
      const base = await baseOfPlan(plan, this.#parts.images, signal, progress);
      ended('done');
      return base;
    } catch (error) {
      ended('failed');
      throw asStepError(step, error, signal);
    }
  }

  /** The layer that a step leaves, found or made. */
  async #step(
    workbench: Workbench,
    request: BuildRequest,
    base: ImageRecord,
    parents: readonly string[],
    step: BuildStep,
  ): Promise<string | null> {
    const { plan, owner, rules, signal, tell } = request;
    const began = performance.now();
    const ended = (outcome: 'done' | 'cached' | 'failed') =>
      tell({ kind: 'step-ended', step: step.id, outcome, ms: Math.round(performance.now() - began) });
    tell({ kind: 'step-began', step: step.id, title: step.title });
    try {
      signal.throwIfAborted();
      const content = step.kind === 'copy' ? await contentOf(step, request.context) : undefined;
      const directory = base.config.workingDirectory ?? '/';
      const key = stepKey({
        ...{ step, parents, directory, platform: plan.platform, tenant: owner.tenant, rules },
        baseEnv: base.config.env,
        planEnv: plan.env,
      });
      const known = await workbench.kept.layer(key);
      if (known !== undefined) {
        ended('cached');
        return known;
      }
      const parent = {
        digest: digestOf(canonicalJson(parents)),
        layers: parents.map((diffId) => workbench.workshop.layers.folderOf(diffId)),
      };
      const room = { parent, env: base.config.env, owner, rules, diskBytes: workbench.limits.diskBytes };
      const progress = (text: string) => tell({ kind: 'output', step: step.id, text });
      const layer = await this.#working.run(key, { signal, progress }, async (inner, say) => {
        const made = await doStep(workbench, { step, room, directory, planEnv: plan.env, content }, inner, say);
        await workbench.kept.keepLayer(key, made);
        return made;
      });
      ended('done');
      return layer;
    } catch (error) {
      ended('failed');
      throw asStepError(step, error, signal);
    }
  }
}

function tooManyLayers(step: BuildStep, most: number): CaissonError {
  return new CaissonError('build_failed', `the image would have more than ${most} layers at the step ${step.id}`, {
    hint: 'Let one setup step do what several do now.',
    context: { step: step.id },
  });
}
