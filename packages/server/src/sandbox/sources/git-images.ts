import { CaissonError } from '@caisson/contract';
import { stepRules } from '../../builds/build-key.ts';
import type { BuildEvent, Builder } from '../../images/builders/builder.ts';
import { reachOf } from '../../images/builders/step-key.ts';
import type { BaseImage, Images } from '../../images/images.ts';
import { SharedWork } from '../../images/shared-work.ts';
import { normalize } from '../compose.ts';
import type { Plans } from '../plans.ts';
import { wholePlan } from '../whole-plan.ts';
import type { RoomRequest } from './rooms.ts';

/** As a spec with a repository has them: one without any others finds the room's step, or leaves it to be found. */
const packages = ['git', 'ca-certificates'];

export interface GitImagesParts {
  readonly plans: Plans;
  readonly images: Images;
  /** What builds here. It may not be known yet when this is made. */
  readonly builder: () => Builder | undefined;
}

/**
 * Images with git and little else, for rooms. They are built as every image is, by the rules of whoever asks, and found
 * again as every image is; those who ask for one at the same time share the work.
 *
 * They are not built as jobs: a build that waits in its place in the queue for another that has none would wait for ever.
 */
export class GitImages {
  readonly #parts: GitImagesParts;
  readonly #building = new SharedWork<BaseImage>();

  constructor(parts: GitImagesParts) {
    this.#parts = parts;
  }

  /** Does something with the image, which is not collected meanwhile. */
  async use<T>(request: RoomRequest, work: (image: BaseImage) => Promise<T>): Promise<T> {
    const image = await this.#build(request);
    const release = this.#parts.images.hold(image);
    try {
      return await work(image);
    } finally {
      release();
    }
  }

  async #build({ os, owner, rules: asked, progress, signal }: RoomRequest): Promise<BaseImage> {
    const { builder: find } = this.#parts;
    const builder = find();
    if (!builder) throw new CaissonError('source_failed', 'this server has no room in which git could unpack it');
    const { family, release } = os;
    const isDistribution = family !== 'image' && family !== 'host';
    const same = release === undefined ? { family } : { family, release };
    const spec = { source: { kind: 'none' }, os: isDistribution ? same : 'auto', packages };
    const { plan, planDigest } = await wholePlan(this.#parts, normalize(spec, true), {}, { signal, progress });
    // A distribution's mirror is open to its specs. A spec that is not of it may reach what it says, and no more.
    const rules = stepRules(asked, isDistribution ? plan.os.family : family);
    const { tenant, project } = owner;
    const key = JSON.stringify([planDigest, reachOf(rules), tenant, project]);
    return this.#building
      .run(key, { signal, progress }, (shared, tellAll) =>
        builder.build({ plan, owner, rules, signal: shared, tell: lines(tellAll) }),
      )
      .catch((error: unknown) => Promise.reject(ofRoom(error)));
  }
}

/** The build as a few lines; what is found again is no news. */
function lines(tell: (line: string) => void): (event: BuildEvent) => void {
  const titles = new Map<string, string>();
  let isTold = false;
  return (event) => {
    if (event.kind === 'output' && !isTold) tell('making a room with git');
    isTold ||= event.kind === 'output';
    if (event.kind === 'step-began') titles.set(event.step, event.title);
    if (event.kind !== 'step-ended' || event.outcome === 'cached') return;
    const { step, outcome, ms } = event;
    tell(`making a room with git: ${titles.get(step) ?? step} ${outcome} (${(ms / 1000).toFixed(1)} s)`);
  };
}

/** What the error tells of its step stays: it says whether to try again. */
function ofRoom(error: unknown): unknown {
  if (!(error instanceof CaissonError) || error.code !== 'build_failed') return error;
  const { context, hint } = error;
  const more = hint === undefined ? {} : { hint };
  return new CaissonError('build_failed', `a room with git could not be made: ${error.message}`, {
    context,
    cause: error,
    ...more,
  });
}
