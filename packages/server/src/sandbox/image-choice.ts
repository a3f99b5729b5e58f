import {
  type Attempt,
  type Build,
  CaissonError,
  type Id,
  type Owner,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import type { Builds, WantedBuild } from '../builds/builds.ts';
import type { BaseImage, Images } from '../images/images.ts';
import { needsBuild } from '../images/plan/needs-build.ts';
import type { ProposedPlan } from '../images/plan/planner.ts';
import type { AttemptPlan } from '../store/attempts.ts';
import { hasChangingImage } from './filesystems.ts';
import type { Plans } from './plans.ts';
import { hasSources, type SourceFacts, type SourcesPort, withoutSources } from './sources-port.ts';
import { wholePlan } from './whole-plan.ts';

export interface ImageChoiceOptions {
  readonly plans: Plans;
  readonly builds: Builds;
  readonly images: Images | undefined;
  /** Absent where nothing brings files from elsewhere: what asks for them is made without. */
  readonly sources?: SourcesPort | undefined;
}

/** What an attempt is made of, and whether its image has to be built first. */
export interface Chosen {
  readonly made: AttemptPlan;
  readonly isBuilding: boolean;
}

export interface BuildingSandbox {
  readonly attempt: Pick<Attempt, 'plan' | 'planDigest' | 'build' | 'sources'>;
  readonly blueprint: WorkspaceBlueprint;
  readonly owner: Owner;
}

export interface BuildingOptions {
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
  /** What became known is to be kept at once: whoever goes on after a crash goes on with it. */
  readonly learn: (made: AttemptPlan) => Promise<void>;
  readonly look: (build: Build) => void;
}

const maxRemembered = 256;
/** A plan depends on little that changes by itself: package names and the base. Longer and a new base is missed. */
const rememberMs = 60_000;

/** Much shorter than the time for which what was asked for is safe from being collected. */
const seenMs = 10_000;

/** From a blueprint to the image that it is launched from, for what has to be built. */
export class ImageChoice {
  readonly #options: ImageChoiceOptions;
  readonly #remembered = new Map<string, { readonly plan: ProposedPlan; readonly at: number }>();
  readonly #seen = new Map<string, { readonly image: BaseImage; readonly at: number }>();

  constructor(options: ImageChoiceOptions) {
    this.#options = options;
  }

  get sources(): SourcesPort | undefined {
    return this.#options.sources;
  }

  /** Whether the image of this blueprint is built here. */
  isBuilt(blueprint: WorkspaceBlueprint): boolean {
    return this.#options.builds.canBuild && needsBuild(this.#doable(blueprint));
  }

  /** Before anything is written: what cannot be planned is refused here. Undefined where there is nothing to choose. */
  async choose(
    blueprint: WorkspaceBlueprint,
    digest: string,
    owner: Owner,
    signal: AbortSignal,
  ): Promise<Chosen | undefined> {
    const { sources } = this.#options;
    const isBuilt = this.isBuilt(blueprint);
    const facts = sources && hasSources(blueprint) ? await sources.resolve(blueprint, owner, signal) : undefined;
    if (!isBuilt) return facts && { made: { sources: facts }, isBuilding: false };
    const { plan, planDigest } = await this.#propose(blueprint, digest, facts, signal);
    if (planDigest === null) return { made: { sources: facts }, isBuilding: true };
    const wanted = { owner, planDigest, plan: plan as ResolvedImagePlan, blueprint };
    const found = await this.#find(wanted);
    return { made: { planDigest, plan, sources: facts, ...found }, isBuilding: found === undefined };
  }

  /** What an attempt that is done again is made of: the same, and built again only where its image is gone. */
  async again(made: AttemptPlan): Promise<Chosen> {
    if (made.planDigest === undefined) return { made, isBuilding: false };
    const isThere = made.fromImage !== undefined && (await this.kept(made.fromImage)) !== undefined;
    if (isThere) return { made, isBuilding: false };
    const { planDigest, plan, sources } = made;
    return { made: { planDigest, plan, sources }, isBuilding: true };
  }

  /** The image of a digest, where it is here. What was just asked for is not removed, so it is not looked for again. */
  async kept(digest: string): Promise<BaseImage | undefined> {
    const seen = this.#seen.get(digest);
    if (seen && Date.now() - seen.at < seenMs) return seen.image;
    const image = await this.#options.images?.kept(digest);
    this.#seen.delete(digest);
    if (image) remember(this.#seen, digest, { image, at: Date.now() });
    return image;
  }

  /** Waits for the build of an attempt, which begins where it is not under way. */
  async build(sandbox: BuildingSandbox, options: BuildingOptions): Promise<BaseImage> {
    const { builds } = this.#options;
    const wanted = await this.#wanted(sandbox, options);
    const found = await this.#find(wanted);
    if (found) {
      await options.learn(found);
      return this.#require(found.fromImage);
    }
    const build = sandbox.attempt.build ?? (await builds.request(wanted)).id;
    await options.learn({ build });
    const { image } = await builds.ended(build, options.signal, options.look);
    const built = await this.#require(image ?? '');
    await options.learn({ fromImage: built.digest });
    return built;
  }

  async leave(build: Id<'build'>, sandbox: Id<'sandbox'>): Promise<void> {
    await this.#options.builds.leave(build, sandbox);
  }

  /** The plan of an attempt, made now where its base had not been there before. */
  async #wanted({ attempt, blueprint, owner }: BuildingSandbox, options: BuildingOptions): Promise<WantedBuild> {
    if (attempt.planDigest !== null)
      return { owner, planDigest: attempt.planDigest, plan: attempt.plan as ResolvedImagePlan, blueprint };
    const made = await wholePlan(this.#options, this.#doable(blueprint), attempt.sources ?? {}, options);
    await options.learn(made);
    return { owner, ...made, blueprint };
  }

  async #propose(
    blueprint: WorkspaceBlueprint,
    digest: string,
    facts: SourceFacts | undefined,
    signal: AbortSignal,
  ): Promise<ProposedPlan> {
    // What a tag of a registry means is asked each time, as for every create from it.
    const key = hasChangingImage(blueprint) ? undefined : JSON.stringify([digest, facts]);
    const known = key === undefined ? undefined : this.#remembered.get(key);
    if (known && Date.now() - known.at < rememberMs) return known.plan;
    const plan = await this.#options.plans.propose(this.#doable(blueprint), signal, facts ?? {});
    if (key !== undefined && plan.planDigest !== null) remember(this.#remembered, key, { plan, at: Date.now() });
    return plan;
  }

  /** The image of a plan that was built before and is still here. */
  async #find(wanted: WantedBuild): Promise<{ build: Id<'build'>; fromImage: string } | undefined> {
    const found = await this.#options.builds.find(wanted);
    if (!found || (await this.kept(found.image)) === undefined) return undefined;
    return { build: found.build, fromImage: found.image };
  }

  async #require(digest: string): Promise<BaseImage> {
    const image = await this.kept(digest);
    if (!image) throw new CaissonError('image_not_found', `the image ${digest} was built and is not here any more`);
    return image;
  }

  #doable(blueprint: WorkspaceBlueprint): WorkspaceBlueprint {
    return this.#options.sources || !hasSources(blueprint) ? blueprint : withoutSources(blueprint);
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxRemembered && oldest !== undefined) map.delete(oldest);
}
