import { CaissonError, type ErrorCode, type FieldProblem } from '@caisson/contract';
import type { Platform, ResolvedImagePlan, SupportFailure, WorkspaceBlueprint } from '@caisson/workspace-composition';
import { blueprintDigest, planDigest } from '@caisson/workspace-composition/digest';
import { type HarnessInstall, installHarness } from '../harnesses/install.ts';
import { findHarness } from '../harnesses/table.ts';
import type { DebianIndexes } from '../packages/debian-index/debian-indexes.ts';
import type { PackageNameService } from '../packages/name-service.ts';
import { refusalOf } from '../packages/refusal.ts';
import type { PackageIndex, PackagePlace } from '../packages/resolution.ts';
import { resolvePackages } from '../packages/resolve-all.ts';
import { renderContainerfile } from './containerfile.ts';
import { type ExplainedPackage, type Explanation, explainPlan } from './explain.ts';
import { type Draft, draftPlan, finishPlan, type PlanDraft, type PlanFacts } from './make-plan.ts';
import { isFailure, type PlanPlace, planPlace } from './plan-place.ts';
import { supportsBlueprint } from './supports.ts';
import { wantedPackages } from './wanted-packages.ts';

type Base = ResolvedImagePlan['base'];

export interface PlannerOptions {
  readonly platform: Platform;
  /** The base as it is now, without fetching or making anything. A text says why it is not known. */
  readonly pinBase: (blueprint: WorkspaceBlueprint, place: PlanPlace, signal: AbortSignal) => Promise<Base | string>;
  readonly indexes?: Pick<DebianIndexes, 'of'> | undefined;
  readonly names?: PackageNameService | undefined;
}

/** A plan before anything is built, with what it does and why. */
export interface ProposedPlan {
  readonly blueprintDigest: string;
  /** Null while something is unresolved. */
  readonly planDigest: string | null;
  readonly plan: PlanDraft | ResolvedImagePlan;
  readonly unresolved: readonly string[];
  readonly containerfile: string | null;
  readonly explanation: readonly Explanation[];
  readonly notices: readonly string[];
}

/** What others found out: what sources stand for, and the base where it cannot be pinned by its name. */
export interface FoundFacts {
  readonly commit?: string | undefined;
  readonly inputs?: Readonly<Record<string, string>> | undefined;
  readonly base?: Base | undefined;
}

/** Finds out what a blueprint does not say, and makes the plan of it. */
export class Planner {
  readonly #options: PlannerOptions;

  constructor(options: PlannerOptions) {
    this.#options = options;
  }

  /** What would be done. Nothing is built; what is not known without building is left open. */
  async propose(blueprint: WorkspaceBlueprint, signal: AbortSignal, found: FoundFacts = {}): Promise<ProposedPlan> {
    const support = supportsBlueprint(blueprint);
    if (!support.ok) throw unsupported(support.failures);
    const place = planPlace(blueprint);
    if (isFailure(place)) throw unsupported([place]);
    const notices: string[] = [];
    const packages = place.distribution === undefined ? [] : await this.#packages(blueprint, place, notices, signal);
    const pinned = await this.#options.pinBase(blueprint, place, signal);
    const base = typeof pinned === 'string' ? (found.base ?? pinned) : pinned;
    if (typeof base === 'string') notices.push(base);
    const facts: PlanFacts = {
      platform: this.#options.platform,
      place,
      base: typeof base === 'string' ? undefined : base,
      packages: packages.map(({ found }) => found),
      harness: place.distribution === undefined ? undefined : this.#harness(blueprint, place),
      commit: found.commit,
      inputs: found.inputs && new Map(Object.entries(found.inputs)),
    };
    const draft = draftPlan(blueprint, facts);
    return {
      blueprintDigest: blueprintDigest(blueprint),
      ...whatIsKnown(blueprint, draft),
      unresolved: draft.unresolved,
      explanation: explainPlan(blueprint, facts, draft, packages),
      notices,
    };
  }

  async #packages(
    blueprint: WorkspaceBlueprint,
    place: PackagePlace,
    notices: string[],
    signal: AbortSignal,
  ): Promise<readonly ExplainedPackage[]> {
    const wanted = wantedPackages(blueprint, place);
    if (wanted.length === 0) return [];
    const index = await this.#index(place, notices, signal);
    const answers = await resolvePackages(wanted, place, { index, service: this.#options.names }, signal);
    const packages: ExplainedPackage[] = [];
    const problems: FieldProblem[] = [];
    for (const [at, found] of answers.entries()) {
      const ask = wanted[at];
      if (ask === undefined) continue;
      if (found.status === 'resolved') packages.push({ wanted: ask, found });
      else problems.push({ path: ask.path, code: found.status, ...refusalOf(found, place) });
    }
    if (problems.length > 0) throw refused('unsupported-package', problems);
    return packages;
  }

  async #index(place: PackagePlace, notices: string[], signal: AbortSignal): Promise<PackageIndex | undefined> {
    const { indexes, platform } = this.#options;
    if (indexes === undefined || place.distribution !== 'debian' || place.release === undefined) return undefined;
    const { index, notice } = await indexes.of(place.release, platform.architecture, signal);
    if (notice !== undefined) notices.push(notice);
    return index;
  }

  #harness(blueprint: WorkspaceBlueprint, place: PackagePlace): HarnessInstall | undefined {
    const harness = findHarness(blueprint.harness.id);
    if (harness === undefined) return undefined;
    const { architecture } = this.#options.platform;
    const install = installHarness(harness, { version: blueprint.harness.version, place, architecture });
    if (typeof install !== 'string') return install;
    throw refused('unsupported-harness', [{ path: 'harness.id', code: 'unsupported-harness', message: install }]);
  }
}

function whatIsKnown(blueprint: WorkspaceBlueprint, draft: Draft) {
  if (draft.unresolved.length === 0) {
    const plan = finishPlan(blueprint, draft);
    return { plan, planDigest: planDigest(plan), containerfile: renderContainerfile(plan).text };
  }
  const { base, os } = draft.draft;
  const containerfile = base !== null || os.family === 'debian' ? renderContainerfile(draft.draft).text : null;
  return { plan: draft.draft, planDigest: null, containerfile };
}

function unsupported(failures: readonly SupportFailure[]): CaissonError {
  const code = failures[0]?.reason ?? 'unsupported-os';
  return refused(
    code,
    failures.map(({ reason, path, message }) => ({ path, code: reason, message })),
  );
}

function refused(code: ErrorCode, problems: readonly FieldProblem[]): CaissonError {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return new CaissonError(code, `${first?.path}: ${first?.message}${more}`, {
    problems: problems.slice(0, 100),
    ...(first?.hint === undefined ? {} : { hint: first.hint }),
  });
}
