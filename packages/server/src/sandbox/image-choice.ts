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
import { isFailure, planPlace } from '../images/plan/plan-place.ts';
import type { ProposedPlan } from '../images/plan/planner.ts';
import type { AttemptPlan } from '../store/attempts.ts';
import { hasChangingImage } from './filesystems.ts';
import type { Plans } from './plans.ts';
import { hasSources, type SourceFacts, type SourcesPort, withoutSources } from './sources-port.ts';

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

/** From a blueprint to the image that it is launched from, for what has to be built. */
export class ImageChoice {
  readonly #options: ImageChoiceOptions;
  readonly #remembered = new Map<string, { readonly plan: ProposedPlan; readonly at: number }>();

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

  /** The image of a digest, where it is here. */
  async kept(digest: string): Promise<BaseImage | undefined> {
    return this.#options.images?.kept(digest);
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
    const base = await this.#base(blueprint, options);
    const asked = this.#doable(blueprint);
    const proposed = await this.#options.plans.propose(asked, options.signal, attempt.sources ?? {}, base);
    const { plan, planDigest, unresolved, notices } = proposed;
    if (planDigest === null)
      throw new CaissonError('build_failed', [`the plan lacks ${unresolved.join(', ')}`, ...notices].join('; '));
    await options.learn({ planDigest, plan });
    return { owner, planDigest, plan: plan as ResolvedImagePlan, blueprint };
  }

  async #base(blueprint: WorkspaceBlueprint, { signal, progress }: BuildingOptions): Promise<BaseImage | undefined> {
    const place = planPlace(blueprint);
    const { os } = blueprint.target;
    if (isFailure(place) || (place.distribution !== 'debian' && os.family !== 'image')) return undefined;
    const release = place.release === undefined ? {} : { release: place.release };
    const base = place.distribution === 'debian' ? ({ family: 'debian', mode: os.mode, ...release } as const) : os;
    return this.#options.images?.resolve(base, { signal, progress });
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
    if (key !== undefined && plan.planDigest !== null) this.#remember(key, plan);
    return plan;
  }

  #remember(key: string, plan: ProposedPlan): void {
    this.#remembered.delete(key);
    this.#remembered.set(key, { plan, at: Date.now() });
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > maxRemembered && oldest !== undefined) this.#remembered.delete(oldest);
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
