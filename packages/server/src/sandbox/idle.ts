import { CaissonError, type CaissonEvent, type Id, type Sandbox } from '@caisson/contract';
import { eachThatIdles } from './each-in-state.ts';
import { InFlight } from './in-flight.ts';
import type { Runner } from './runner.ts';
import type { WorkContext } from './work-context.ts';

interface Watched {
  readonly seconds: number;
  usedAt: number;
  timer?: NodeJS.Timeout;
}

/** What a timer of Node can wait; who idles longer is looked at in between. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Pauses what nobody uses for as long as its policy says. Every visit (a request, a stream, a WebSocket, a tool) is use
 * from its beginning to its end; processes that nobody looks at are none.
 *
 * Laws
 * - Only sandboxes that are ready and have the policy are watched. The idle time begins anew when one becomes ready, and
 *   when the server starts: what happened before that, nobody knows.
 * - A timer is set once and looked at when it ends, never moved by each use.
 * - A visit counts before it reads the state, and the pause looks for visits after it has written its own: so either the
 *   visit sees the pause, or the pause sees the visit and gives way.
 */
export class Idle {
  readonly #work: WorkContext;
  readonly #runner: Runner;
  readonly #visits = new InFlight();
  readonly #watched = new Map<Id<'sandbox'>, Watched>();
  /** When the last visit of each ended, until it is destroyed. */
  readonly #usedAt = new Map<Id<'sandbox'>, number>();
  readonly #openedAt = performance.now();
  #stopListening = () => {};

  constructor(work: WorkContext, runner: Runner) {
    this.#work = work;
    this.#runner = runner;
  }

  async start(): Promise<void> {
    const { store } = this.#work;
    this.#stopListening = store.onEvent((event, sandbox) => this.#hear(event, sandbox));
    for await (const sandbox of eachThatIdles(store)) this.#watch(sandbox);
  }

  stop(): void {
    this.#stopListening();
    for (const id of [...this.#watched.keys()]) this.#forget(id);
  }

  /** A visit begins; what it gives is called at its end. */
  visit(id: Id<'sandbox'>): () => void {
    const end = this.#visits.begin(id);
    return () => {
      end();
      const now = performance.now();
      this.#usedAt.set(id, now);
      const watched = this.#watched.get(id);
      if (watched) watched.usedAt = now;
    };
  }

  /** How long nobody has used it; 0 while somebody does. What was before this server, nobody knows: it counts as use. */
  idleMs(id: Id<'sandbox'>): number {
    return this.#visits.count(id) > 0 ? 0 : performance.now() - (this.#usedAt.get(id) ?? this.#openedAt);
  }

  /** Only events of states, and the claim that gives a policy to one that was made ahead, come with the record. */
  #hear({ subject }: CaissonEvent, sandbox: Sandbox | undefined): void {
    if (!sandbox) return;
    this.#forget(subject as Id<'sandbox'>);
    if (sandbox.state === 'destroyed') this.#usedAt.delete(sandbox.id);
    this.#watch(sandbox);
  }

  #watch(sandbox: Sandbox): void {
    const { id, state, policy, driver } = sandbox;
    const seconds = policy.autoPauseSeconds;
    if (state !== 'ready' || seconds === null || !this.#canPause(driver)) return;
    this.#forget(id);
    const watched: Watched = { seconds, usedAt: performance.now() };
    this.#watched.set(id, watched);
    this.#arm(id, watched, seconds * 1000);
  }

  #canPause(name: string | null): boolean {
    try {
      return this.#work.driver(name).pause !== undefined;
    } catch {
      // A driver that is not installed here holds nothing that could be paused.
      return false;
    }
  }

  #arm(id: Id<'sandbox'>, watched: Watched, ms: number): void {
    clearTimeout(watched.timer);
    watched.timer = setTimeout(() => this.#look(id, watched), Math.min(Math.ceil(ms), longestTimerMs)).unref();
  }

  #look(id: Id<'sandbox'>, watched: Watched): void {
    const idleMs = this.#visits.count(id) > 0 ? 0 : performance.now() - watched.usedAt;
    const leftMs = watched.seconds * 1000 - idleMs;
    if (leftMs > 0) {
      this.#arm(id, watched, leftMs);
      return;
    }
    this.#pause(id, watched.seconds).catch(() => {
      // It was used again, or could not be paused now: the idle time begins anew, unless an event has told more.
      if (this.#watched.get(id) === watched) this.#arm(id, watched, watched.seconds * 1000);
    });
  }

  async #pause(id: Id<'sandbox'>, seconds: number): Promise<void> {
    const sandbox = await this.#work.store.sandboxes.get(id);
    if (sandbox?.state !== 'ready') return this.#forget(id);
    const reason = { code: 'idle', message: `nobody used it for ${seconds} s` } as const;
    const unlessUsed = async () => {
      if (this.#visits.count(id) > 0) throw new CaissonError('tools_in_flight', 'it is used again');
    };
    const operation = await this.#runner.begin(sandbox, 'pause', 'pausing', { reason }, unlessUsed);
    await operation.done;
  }

  #forget(id: Id<'sandbox'>): void {
    clearTimeout(this.#watched.get(id)?.timer);
    this.#watched.delete(id);
  }
}
