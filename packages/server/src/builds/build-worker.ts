import { type BuildJob, buildJobKind, buildJobSchema, CaissonError, type Id, newId } from '@caisson/contract';
import type { Builder } from '../images/builders/builder.ts';
import type { HeldBuild } from '../store/builds.ts';
import type { Job } from '../store/jobs.ts';
import type { Store } from '../store/store.ts';
import { Spans } from '../telemetry/spans.ts';
import { readTraceParent } from '../telemetry/trace-parent.ts';
import { type MakeContext, needsContext } from './build-context.ts';
import { buildError } from './build-error.ts';
import { BuildJournal, type JournalBounds } from './build-journal.ts';
import { canHeal } from './can-heal.ts';

export interface BuildWorkerOptions {
  readonly store: Store;
  readonly builder: Builder;
  /** Brings in what `copy` steps need; absent where nobody can. */
  readonly context?: MakeContext | undefined;
  /** How many builds run at a time. */
  readonly atOnce?: number | undefined;
  /** A worker that is silent for so long has lost its builds. */
  readonly leaseMs?: number | undefined;
  /** How often it says that it is there, and hears whether a build was cancelled: that shall take no longer than 2 s. */
  readonly beatMs?: number | undefined;
  /** No build may take longer: one that hangs must not hold its place for ever. */
  readonly longestMs?: number | undefined;
  readonly bounds?: JournalBounds | undefined;
  /** Something of a build was written, or it ended. */
  readonly onChange?: ((build: Id<'build'>) => void) | undefined;
  readonly warn?: ((error: unknown, what: string) => void) | undefined;
  /** Where it is told what each build took. */
  readonly spans?: Spans | undefined;
}

const lost = Symbol('the lease is over');

/**
 * Takes jobs that ask for a build, a few at a time, and does them.
 *
 * Laws
 * - Its lease is renewed while it works. When that fails it stops, and says nothing more about the build.
 * - What can heal is tried again after a pause, what cannot is not; the job's `maxTries` ends it.
 * - A worker that is stopped gives its builds back, and the next one goes on at once.
 */
export class BuildWorker {
  readonly #options: BuildWorkerOptions;
  readonly #name = newId('host');
  readonly #running = new Map<Id<'build'>, { readonly abort: AbortController; readonly done: Promise<void> }>();
  readonly #leaseMs: number;
  readonly #beatMs: number;
  readonly #spans: Spans;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isWoken = false;
  #isStopped = true;

  constructor(options: BuildWorkerOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? 15_000;
    this.#beatMs = options.beatMs ?? 1_000;
    this.#spans = options.spans ?? new Spans();
  }

  get running(): number {
    return this.#running.size;
  }

  start(): void {
    this.#isStopped = false;
    this.wake();
  }

  /** Looks for work now. It does so by itself now and then: for what another server asked, or a lease that ended. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isWoken = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#isWoken) this.wake();
    });
  }

  /** Ends a build that runs here, without waiting for the next heartbeat to tell of it. */
  cancel(build: Id<'build'>): void {
    this.#running.get(build)?.abort.abort(new CaissonError('build_cancelled'));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const reason = new CaissonError('shutting_down', 'the server is shutting down');
    for (const { abort } of this.#running.values()) abort.abort(reason);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isWoken = false;
    const { store, atOnce = 2, warn } = this.#options;
    try {
      while (!this.#isStopped && this.#running.size < atOnce) {
        const job = await store.jobs.claim([buildJobKind], this.#name, this.#leaseMs);
        if (!job) break;
        this.#take(job);
      }
      for (const build of await store.builds.buryDead()) this.#options.onChange?.(build);
    } catch (error) {
      // A database that is away comes back; until then nothing is claimed.
      warn?.(error, 'no builds can be claimed');
    }
    if (!this.#isStopped) this.#timer = setTimeout(() => this.wake(), this.#beatMs);
  }

  #take(job: Job): void {
    const parsed = buildJobSchema.safeParse(job.payload);
    if (!parsed.success) {
      const message = `its message is not one that this version reads: ${parsed.error.issues[0]?.message ?? ''}`;
      void this.#options.store.jobs.fail(job.id, this.#name, message, { retry: false }).catch(() => {});
      return;
    }
    const { build } = parsed.data;
    const abort = new AbortController();
    const done = this.#do(parsed.data, { build, job, worker: this.#name }, abort).finally(() => {
      this.#running.delete(build);
      this.#options.onChange?.(build);
      this.wake();
    });
    this.#running.set(build, { abort, done });
  }

  async #do(message: BuildJob, held: HeldBuild, abort: AbortController): Promise<void> {
    const { store, longestMs = 7_200_000, warn } = this.#options;
    const { job, build } = held;
    const beat = setInterval(() => void this.#beat(job, abort), this.#beatMs);
    const tooLong = new CaissonError('build_failed', `the build did not end within ${longestMs / 60_000} minutes`);
    const limit = setTimeout(() => abort.abort(tooLong), longestMs);
    let journal: BuildJournal | undefined;
    try {
      await store.builds.begin(held, this.#options.builder.name);
      const begun = await this.#journal(held);
      journal = begun;
      const about = { build, try: job.tries, builder: this.#options.builder.name };
      // Whoever woke this worker may have asked for another one: the message says where it belongs.
      const entry = { parent: readTraceParent(message.traceparent) };
      const make = () => this.#build(message, begun, abort.signal);
      const { image, materials } = await this.#spans.run('build.job', about, make, { entry });
      await begun.end();
      if (await store.builds.succeed(held, image, materials)) await begun.end('succeeded');
    } catch (error) {
      await this.#failed(held, abort.signal.aborted ? abort.signal.reason : error, journal).catch((second) =>
        warn?.(second, `how the build ${build} ended cannot be written`),
      );
    } finally {
      clearInterval(beat);
      clearTimeout(limit);
    }
  }

  async #journal({ build, job }: HeldBuild): Promise<BuildJournal> {
    const { store, bounds, onChange } = this.#options;
    const [position, record] = await Promise.all([store.buildLog.last(build), store.builds.get(build)]);
    const begins = { position, logBytes: record?.logBytes ?? 0 };
    const journal = new BuildJournal(store, build, begins, () => onChange?.(build), bounds);
    if (job.tries > 1) journal.note(`try ${job.tries} of ${job.maxTries}`);
    return journal;
  }

  async #build(
    { plan, blueprint, owner, rules }: BuildJob,
    journal: BuildJournal,
    signal: AbortSignal,
  ): Promise<{ image: string; materials: string | null }> {
    const { builder, context: make } = this.#options;
    if (needsContext(plan) && !make)
      throw new CaissonError('build_failed', 'nothing here brings the files in that the plan copies');
    const context = needsContext(plan)
      ? await make?.({ plan, blueprint, owner, progress: journal.note, signal })
      : undefined;
    try {
      const request = { plan, owner, rules, signal, tell: journal.tell, context: context?.folder };
      const built = await builder.build(request);
      return { image: built.digest, materials: built.billOfMaterials };
    } finally {
      // What stays of it is swept at the next start; the build itself is done.
      await context?.dispose().catch((error) => this.#options.warn?.(error, 'a build context stays'));
    }
  }

  async #beat(job: Job, abort: AbortController): Promise<void> {
    try {
      if (await this.#options.store.jobs.heartbeat(job.id, this.#name, this.#leaseMs)) return;
      const state = (await this.#options.store.jobs.get(job.id))?.state;
      abort.abort(state === 'cancelled' ? new CaissonError('build_cancelled') : lost);
    } catch {
      // The lease holds for a while without it; when it is over, the next heartbeat says so.
    }
  }

  async #failed(held: HeldBuild, cause: unknown, journal: BuildJournal | undefined): Promise<void> {
    const { store, warn } = this.#options;
    if (cause === lost) return;
    if (!(cause instanceof CaissonError)) warn?.(cause, `the build ${held.build} failed for no reason of its own`);
    const error = cause instanceof CaissonError ? cause : new CaissonError('internal', undefined, { cause });
    if (error.code === 'shutting_down') {
      journal?.note('the server ends; the next one goes on');
      await journal?.end();
      await store.jobs.release(held.job.id, held.worker);
      return;
    }
    if (error.code === 'build_cancelled') {
      await journal?.end('cancelled');
      return;
    }
    await journal?.end();
    const state = await store.builds.fail(held, buildError(error), canHeal(error));
    if (state === undefined) return;
    journal?.note(state === 'queued' ? `it is tried again: ${error.message}` : error.message);
    await journal?.end(state === 'failed' ? 'failed' : undefined);
  }
}
