import { type ActionName, CaissonError, hasCode, type Id, type Sandbox, type TransientState } from '@caisson/contract';
import { within } from '../drivers/within.ts';
import type { StepChange } from '../store/sandboxes.ts';
import { build } from './build.ts';
import { about, asCaissonError, failureReason } from './failure.ts';
import { work } from './work.ts';
import type { WorkContext } from './work-context.ts';

/** An action that runs in this server. */
export interface Operation {
  readonly action: ActionName;
  /** The record when it has ended well; rejects with why it has not. */
  readonly done: Promise<Sandbox>;
}

/**
 * What is done in the transient state before the work itself, by the server that began the action. One that takes it over
 * after a crash begins with the work: whatever was waited for has ended with its server.
 */
type First = (signal: AbortSignal) => Promise<unknown>;

/** How long an action that is being replaced may take to let go. Longer than a deadline's own grace. */
const yieldMs = 5_000;

/**
 * Runs actions: enters the transient state, does the work, writes the end. At most one at a time for each sandbox;
 * `destroy` takes the place of any other.
 *
 * Law: when an operation ends, its record is in a stable state, unless the database could not be written. Then the
 * record stays transient and the reconciler resumes it.
 */
export class Runner {
  readonly #context: WorkContext;
  readonly #entering = new Map<Id<'sandbox'>, Set<Promise<Operation>>>();
  readonly #held = new Map<Id<'sandbox'>, Promise<void>>();
  readonly #looks = new Map<Id<'sandbox'>, Set<{ outdated: boolean }>>();
  #stopped: CaissonError | undefined;
  readonly #running = new Map<Id<'sandbox'>, Operation & { readonly abort: AbortController }>();

  constructor(context: WorkContext) {
    this.#context = context;
  }

  /** Whether an action runs on the sandbox or is about to, or somebody holds it. */
  busy(id: Id<'sandbox'>): boolean {
    return this.#running.has(id) || this.#entering.has(id) || this.#held.has(id);
  }

  get count(): number {
    return this.#running.size;
  }

  /** Called at the end of each action. */
  onEnded: (() => void) | undefined;

  /** Whether one of these actions runs on a sandbox that is not among those. */
  runsBesides(ids: { has(id: Id<'sandbox'>): boolean }, actions: readonly ActionName[]): boolean {
    return [...this.#running].some(([id, { action }]) => actions.includes(action) && !ids.has(id));
  }

  /** Begins an action on the sandbox as the caller saw it. Resolves when the transient state is written. */
  begin(
    seen: Sandbox,
    action: ActionName,
    enter: TransientState,
    change: StepChange = {},
    first?: First,
  ): Promise<Operation> {
    return this.enter(seen.id, async () => seen, action, enter, change, first);
  }

  /**
   * The same for a sandbox that `prepare` first makes. From here on everybody who finds its record knows that somebody is
   * at work on it, also in the moments between two writes.
   */
  async enter(
    id: Id<'sandbox'>,
    prepare: () => Promise<Sandbox>,
    action: ActionName,
    enter: TransientState,
    change: StepChange,
    first?: First,
  ): Promise<Operation> {
    const held = this.#held.get(id) ?? Promise.resolve();
    const entering = held
      .then(prepare)
      .then((seen) => this.#context.store.sandboxes.step(seen, { action, enter }, change))
      .then(({ sandbox }) => this.#start(sandbox, action, first));
    const others = this.#entering.get(id) ?? new Set();
    this.#entering.set(id, others.add(entering));
    try {
      return await entering;
    } finally {
      others.delete(entering);
      if (others.size === 0) this.#entering.delete(id);
    }
  }

  /**
   * What runs on a sandbox: the operation at work, or the one that a record says is running and nobody runs, which then
   * goes on. Undefined when its state is stable. The record is read again: an old one could undo what happened since.
   */
  async resume(id: Id<'sandbox'>): Promise<Operation | undefined> {
    for (;;) {
      await Promise.allSettled([this.#held.get(id), ...(this.#entering.get(id) ?? [])]);
      const present = this.#running.get(id);
      if (present) return present;
      const look = this.#look(id);
      const sandbox = await this.#context.store.sandboxes.get(id).finally(look.end);
      if (this.busy(id) || look.outdated) continue;
      return sandbox?.action ? this.#start(sandbox, sandbox.action) : undefined;
    }
  }

  /**
   * Does something to a sandbox while no action can begin on it. Answers undefined without doing it when one is at work.
   * What is to be done must be quick: actions wait for it.
   */
  async whileIdle<T>(id: Id<'sandbox'>, task: () => Promise<T>): Promise<T | undefined> {
    if (this.busy(id)) return undefined;
    let release = () => {};
    this.#held.set(
      id,
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    try {
      return await task();
    } finally {
      this.#held.delete(id);
      release();
    }
  }

  /**
   * Aborts everything, and whatever begins from now on; for a server that shuts down. Records stay as they are, and the
   * next server resumes them.
   */
  stop(reason: CaissonError): void {
    this.#stopped = reason;
    for (const operation of this.#running.values()) operation.abort.abort(reason);
  }

  /** Resolves when nothing runs any more, nor is about to. */
  async idle(): Promise<void> {
    while (this.#running.size > 0 || this.#entering.size > 0) {
      const running = [...this.#running.values()].map((operation) => operation.done);
      const entering = [...this.#entering.values()].flatMap((promises) => [...promises]);
      await Promise.allSettled<unknown>([...running, ...entering]);
    }
  }

  #start(sandbox: Sandbox, action: ActionName, first?: First): Operation {
    for (const look of this.#looks.get(sandbox.id) ?? []) look.outdated = true;
    const replaced = this.#running.get(sandbox.id);
    const abort = new AbortController();
    const done = this.#perform(sandbox, action, abort.signal, { replaced, first }).finally(() => {
      if (this.#running.get(sandbox.id) === operation) this.#running.delete(sandbox.id);
      this.onEnded?.();
    });
    // Whoever waits sees the failure; when nobody waits the record tells it.
    done.catch(() => {});
    const operation = { action, done, abort };
    this.#running.set(sandbox.id, operation);
    if (this.#stopped) abort.abort(this.#stopped);
    replaced?.abort.abort(
      new CaissonError('action_cancelled', `${replaced.action} of ${sandbox.id} gave way to ${action}`),
    );
    return operation;
  }

  /** Notices whether an operation begins on the sandbox while its record is being read. */
  #look(id: Id<'sandbox'>): { outdated: boolean; end: () => void } {
    const looks = this.#looks.get(id) ?? new Set();
    const look = {
      outdated: false,
      end: () => {
        looks.delete(look);
        if (looks.size === 0) this.#looks.delete(id);
      },
    };
    this.#looks.set(id, looks.add(look));
    return look;
  }

  async #perform(
    sandbox: Sandbox,
    action: ActionName,
    signal: AbortSignal,
    { replaced, first }: { readonly replaced?: Operation | undefined; readonly first?: First | undefined },
  ): Promise<Sandbox> {
    const { store } = this.#context;
    if (replaced)
      await within(
        replaced.done.catch(() => {}),
        yieldMs,
      );
    let standing = sandbox;
    let change: StepChange;
    try {
      const perform = work[action];
      if (!perform) throw new CaissonError('interrupted', `the server ended while ${sandbox.id} was ${sandbox.state}`);
      await first?.(signal);
      const whose = { sandbox: sandbox.id, driver: sandbox.driver ?? undefined };
      const { spans } = this.#context;
      if (standing.state === 'building') {
        const built = await spans.run('build', whose, () => build(this.#context, sandbox, signal));
        standing = (await store.sandboxes.step(standing, { action, enter: 'provisioning' }, built)).sandbox;
      }
      const seen = standing;
      change = await spans.run(action, whose, () => perform(this.#context, seen, signal));
    } catch (cause) {
      const error = asCaissonError(cause);
      if (hasCode(error, 'action_cancelled', 'shutting_down', 'database_unavailable')) throw about(error, sandbox);
      await this.#fail(standing, action, error);
      throw about(error, sandbox);
    }
    try {
      return (await store.sandboxes.step(standing, { action, end: 'success' }, change)).sandbox;
    } catch (cause) {
      throw about(asCaissonError(cause), sandbox);
    }
  }

  async #fail(sandbox: Sandbox, action: ActionName, error: CaissonError): Promise<void> {
    const reason = failureReason(error);
    const change: StepChange = { reason, endAttempt: { state: 'failed', reason } };
    try {
      await this.#context.store.sandboxes.step(sandbox, { action, end: 'failure' }, change);
    } catch (second) {
      // Somebody else took the sandbox over meanwhile, or the database is away: both leave the record to them.
      if (!(second instanceof CaissonError)) throw second;
    }
  }
}
