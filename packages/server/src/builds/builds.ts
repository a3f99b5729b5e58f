import { setTimeout as delay } from 'node:timers/promises';
import {
  type Build,
  type BuildDetail,
  type BuildLogItem,
  type BuildState,
  buildJobKind,
  CaissonError,
  type Id,
  newId,
  type Owner,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import { followLog } from '../events/follow-log.ts';
import type { Builder } from '../images/builders/builder.ts';
import type { Store } from '../store/store.ts';
import { writeTraceParent } from '../telemetry/trace-parent.ts';
import { type Caller, canSee, projectOf, requireChange } from '../tenancy/caller.ts';
import { asThrown, cancelled } from './build-error.ts';
import { buildKey, buildRules, sharedBuildKey } from './build-key.ts';
import { BuildWorker, type BuildWorkerOptions } from './build-worker.ts';

export interface BuildsOptions extends Omit<BuildWorkerOptions, 'onChange' | 'builder'> {
  /** How many builds of one tenant may be queued or running. */
  readonly maxPerTenant?: number | undefined;
}

export interface WantedBuild {
  readonly owner: Owner;
  readonly planDigest: string;
  readonly plan: ResolvedImagePlan;
  readonly blueprint: WorkspaceBlueprint;
}

/** A queue longer than this is hours of work that nobody waits for. */
const defaultMaxPerTenant = 50;
/** The first try and three more: a mirror that is away for longer is somebody's to mend. */
const maxTries = 4;
/** Events of this process come at once; this is for what another one wrote. */
const lookEveryMs = 1_000;
/** How long logs are kept, and records of builds that gave no image. */
const keepMs = 30 * 24 * 3_600_000;

const hasEnded: readonly BuildState[] = ['succeeded', 'failed', 'cancelled'];

/** Builds as they are asked for, waited for, looked at and stopped. */
export class Builds {
  readonly #store: Store;
  readonly #options: BuildsOptions;
  #worker: BuildWorker | undefined;
  readonly #maxPerTenant: number;
  readonly #listeners = new Map<Id<'build'>, Set<() => void>>();

  constructor(options: BuildsOptions) {
    this.#store = options.store;
    this.#maxPerTenant = options.maxPerTenant ?? defaultMaxPerTenant;
    this.#options = options;
  }

  /** Whether something builds here. */
  get canBuild(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Begins to work, and goes on with what an earlier server left: no other one is at work on it. Without a builder
   * nothing is built; what was can still be looked at.
   */
  async open(builder: Builder | undefined): Promise<void> {
    await this.prune();
    if (!builder) return;
    await this.#store.jobs.releaseAll(buildJobKind);
    const onChange = (build: Id<'build'>) => this.#changed(build);
    this.#worker = new BuildWorker({ ...this.#options, builder, onChange });
    this.#worker.start();
  }

  async close(): Promise<void> {
    await this.#worker?.stop();
  }

  async prune(now: number = Date.now()): Promise<void> {
    await this.#store.buildLog.prune(now - keepMs);
  }

  /** The image that was built of this plan, where there is one that its owner may have. */
  async find({ owner, planDigest, plan, blueprint }: WantedBuild) {
    return this.#store.builds.imageOf(buildKey(planDigest, plan, buildRules(blueprint, plan), owner));
  }

  /** The build of this plan that is under way for the project, or a new one. */
  async request({ owner, planDigest, plan, blueprint }: WantedBuild): Promise<Build> {
    const rules = buildRules(blueprint, plan);
    const key = buildKey(planDigest, plan, rules, owner);
    const id = newId('build');
    const here = this.#options.spans?.here;
    const payload = {
      version: 1,
      type: buildJobKind,
      build: id,
      owner,
      planDigest,
      plan,
      blueprint,
      rules,
      requestedAt: new Date().toISOString(),
      ...(here ? { traceparent: writeTraceParent(here) } : {}),
    };
    const job = { kind: buildJobKind, payload, uniqueKey: sharedBuildKey(key, owner), maxTries };
    const build = await this.#store.builds.request({ id, owner, key, planDigest, plan }, job, this.#maxPerTenant);
    this.#worker?.wake();
    return build;
  }

  /** The build when it has ended well; throws why it has not. `look` sees the record each time that it changed. */
  async ended(id: Id<'build'>, signal: AbortSignal, look: (build: Build) => void = () => {}): Promise<Build> {
    for (;;) {
      const changed = this.#nextChange(id, signal);
      try {
        signal.throwIfAborted();
        const build = await this.#require(id);
        look(build);
        if (build.state === 'succeeded') return build;
        if (build.error && hasEnded.includes(build.state)) throw asThrown(build.error, id);
        await changed.promise;
      } finally {
        changed.stop();
      }
    }
  }

  /** A sandbox does not wait for it any more. It is stopped when no other does. */
  async leave(id: Id<'build'>, sandbox: Id<'sandbox'>): Promise<void> {
    if (await this.#store.builds.isAwaited(id, sandbox)) return;
    await this.#stop(id, 'nobody waits for it any more');
  }

  async list(
    caller: Caller,
    filter: { project?: string | undefined; state?: BuildState | undefined; after?: string | undefined; limit: number },
  ): Promise<Build[]> {
    const project = projectOf(caller, filter.project);
    return this.#store.builds.list({ ...filter, tenant: caller.owner.tenant, project });
  }

  async get(caller: Caller, id: string): Promise<BuildDetail> {
    const build = await this.#store.builds.detail(id);
    // Another tenant's id is answered like one that does not exist.
    if (!build || !canSee(caller, build.owner)) throw notFound(id);
    return build;
  }

  async cancel(caller: Caller, id: string): Promise<Build> {
    const build = await this.get(caller, id);
    requireChange(caller, build);
    await this.#stop(build.id, `${caller.owner.principal} cancelled it`);
    return this.#require(build.id);
  }

  async logs(caller: Caller, id: string, after: number, limit: number): Promise<BuildLogItem[]> {
    const build = await this.get(caller, id);
    return this.#store.buildLog.list(build.id, after, limit);
  }

  /** The log as it is written, until the build has ended. */
  async follow(caller: Caller, id: string, after: number) {
    const build = await this.get(caller, id);
    return { from: after, source: (signal: AbortSignal) => this.#follow(build.id, after, signal) };
  }

  async *#follow(id: Id<'build'>, after: number, signal: AbortSignal): AsyncGenerator<BuildLogItem> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    let position = after;
    const log = {
      list: async (from: number, limit: number) => {
        // Its state first: what is written after it was read as ended does not exist.
        const build = await this.#store.builds.get(id);
        const items = await this.#store.buildLog.list(id, from, limit);
        if (items.length === 0 && (!build || hasEnded.includes(build.state))) over.abort();
        return items;
      },
      subscribe: (wake: () => void) => {
        const timer = setInterval(wake, lookEveryMs);
        const stop = this.#listen(id, wake);
        return () => {
          clearInterval(timer);
          stop();
        };
      },
    };
    for await (const item of followLog(log, position, until)) {
      position = item.position;
      yield item;
      if (item.kind === 'ended') return;
    }
    if (signal.aborted) return;
    // One that ended without a worker has nobody who wrote it.
    const outcome = (await this.#store.builds.get(id))?.state ?? 'failed';
    const time = new Date().toISOString();
    yield { position: position + 1, time, kind: 'ended', step: null, text: '', outcome };
  }

  async #stop(id: Id<'build'>, message: string): Promise<void> {
    if (!(await this.#store.builds.cancel(id, cancelled(message)))) return;
    this.#worker?.cancel(id);
    this.#changed(id);
  }

  async #require(id: Id<'build'>): Promise<Build> {
    const build = await this.#store.builds.get(id);
    if (!build) throw notFound(id);
    return build;
  }

  #changed(id: Id<'build'>): void {
    for (const listener of this.#listeners.get(id) ?? []) listener();
  }

  #listen(id: Id<'build'>, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(id);
    };
  }

  /** Resolves with the next change, or after a while: what another process does tells nobody here. */
  #nextChange(id: Id<'build'>, signal: AbortSignal): { promise: Promise<void>; stop: () => void } {
    const over = new AbortController();
    const stop = this.#listen(id, () => over.abort());
    const promise = delay(lookEveryMs, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => {});
    return {
      promise,
      stop: () => {
        over.abort();
        stop();
      },
    };
  }
}

function notFound(id: string): CaissonError {
  return new CaissonError('build_not_found', `there is no build ${id}`);
}
