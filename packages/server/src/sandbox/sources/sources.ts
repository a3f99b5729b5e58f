import {
  CaissonError,
  type NetworkRules,
  networkRulesOf,
  type Owner,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import { repositoryPlacement } from '@caisson/workspace-composition';
import { type FoundRef, isCommit } from '../../images/sources/find-ref.ts';
import { resolveRef } from '../../images/sources/remote.ts';
import type { EgressSubjects } from '../../network/egress.ts';
import type {
  BuildContext,
  ContextRequest,
  PlacedSources,
  PlaceRequest,
  SourceFacts,
  SourcesPort,
} from '../sources-port.ts';
import { applyInputs } from './apply-inputs.ts';
import { type Contents, isContent } from './contents.ts';
import { makeContext } from './make-context.ts';
import { Placer } from './placer.ts';
import { type RemotesOptions, remotesOf } from './remotes.ts';
import type { Rooms } from './rooms.ts';
import { endLeftovers } from './run-inside.ts';
import { isGit, type NamedSource, namedInputs, namedWorkspace, naming } from './source-name.ts';

export interface SourcesOptions extends RemotesOptions {
  /** What a sandbox may reach now. */
  readonly subjects: EgressSubjects;
  readonly contents: Contents;
  /** Where git runs when the sandbox has none, and before a build. */
  readonly rooms?: Rooms | undefined;
  /** Where the files of a build lie until it has them. */
  readonly contextFolder: string;
  readonly guestProgram: string;
  /** For all of what one request asks for. */
  readonly deadlineMs?: number | undefined;
}

/** A large repository over a slow line; what takes longer nobody waits for. */
const defaultDeadlineMs = 900_000;

/**
 * Files from elsewhere, for sandboxes and builds.
 *
 * Laws
 * - Nothing is reached that the network rules of the spec do not allow.
 * - Credentials stay in the server: it speaks git's protocol itself, and only what it is answered goes on.
 * - Git runs in a sandbox and never on the machine: what it reads is a stranger's.
 */
export class Sources implements SourcesPort {
  readonly #options: SourcesOptions;

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  resolve(blueprint: WorkspaceBlueprint, owner: Owner, signal: AbortSignal): Promise<SourceFacts> {
    return this.#inTime(signal, (inner) => this.#resolve(blueprint, owner, inner));
  }

  context(request: ContextRequest): Promise<BuildContext> {
    return this.#inTime(request.signal, (signal) => makeContext(this.#options, { ...request, signal }));
  }

  place(request: PlaceRequest): Promise<PlacedSources> {
    return this.#inTime(request.signal, (signal) => this.#place({ ...request, signal }));
  }

  async #resolve(blueprint: WorkspaceBlueprint, owner: Owner, outer: AbortSignal): Promise<SourceFacts> {
    const rules = networkRulesOf(blueprint.runtime.network);
    const failed = new AbortController();
    const signal = AbortSignal.any([outer, failed.signal]);
    const find = async (named: NamedSource) => {
      try {
        return await naming(named, () => this.#find(named, owner, rules, signal));
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    };
    const workspace = namedWorkspace(blueprint);
    const [own, ...others] = await Promise.all([workspace && find(workspace), ...namedInputs(blueprint).map(find)]);
    const ids = blueprint.sources.inputs.map(({ id }, index) => [id, others[index]?.commit ?? ''] as const);
    return { ...own, ...(ids.length === 0 ? {} : { inputs: Object.fromEntries(ids) }) };
  }

  async #place(request: PlaceRequest): Promise<PlacedSources> {
    const { guest, blueprint, owner, facts, isBuilt, sandbox, progress, signal } = request;
    const rules = (await this.#options.subjects.find(sandbox))?.rules ?? networkRulesOf(blueprint.runtime.network);
    await endLeftovers(guest, signal);
    const placer = new Placer({ ...this.#options, guest, os: blueprint.target.os, owner, rules, progress, signal });
    const workspace = namedWorkspace(blueprint);
    if (workspace && !(isBuilt && repositoryPlacement(blueprint) === 'image'))
      await placer.workspace(workspace, blueprint.runtime.workspaceRoot, facts);
    for (const input of isBuilt ? [] : namedInputs(blueprint))
      await placer.input(input, facts.inputs?.[input.source.id]);
    return { notices: await applyInputs({ guest, blueprint, progress, signal }) };
  }

  /** The commit of a repository, or the digest of what else it is. */
  async #find(named: NamedSource, owner: Owner, rules: NetworkRules, signal: AbortSignal): Promise<FoundRef> {
    if (isContent(named)) return { commit: await this.#options.contents.digest(named.source, rules, signal) };
    if (!isGit(named)) throw new CaissonError('internal', 'a source of no known kind');
    const { url, ref } = named.source;
    const converse = (await remotesOf(this.#options, named, owner, rules))(url);
    return isCommit(ref) ? { commit: ref } : resolveRef(converse, ref, signal);
  }

  /** One that takes too long is no fault of a backend: no other one would be quicker. */
  async #inTime<T>(outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { deadlineMs = defaultDeadlineMs } = this.#options;
    const late = new AbortController();
    const why = new CaissonError('source_unreachable', `its sources did not come within ${deadlineMs / 1000} s`);
    const timer = setTimeout(() => late.abort(why), deadlineMs);
    try {
      return await work(AbortSignal.any([outer, late.signal]));
    } catch (error) {
      throw late.signal.aborted && !outer.aborted ? why : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
