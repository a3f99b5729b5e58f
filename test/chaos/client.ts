import { newId, type Sandbox, type SandboxState } from '@caisson/contract';
import { call } from '../e2e/server.ts';

type Action = 'create' | 'stop' | 'start' | 'recreate' | 'destroy';

/** What one client knows for certain about one of its sandboxes, and what it asked without learning the answer. */
export interface Known {
  readonly id: string;
  state: SandboxState;
  incarnation: number;
  asked: Action | null;
}

/** Where an action leads when it is done. */
const leadsTo: Record<Action, SandboxState> = {
  create: 'ready',
  stop: 'stopped',
  start: 'ready',
  recreate: 'ready',
  destroy: 'destroyed',
};

/**
 * A client that does random things to sandboxes of its own and believes only what was acknowledged. A create whose answer
 * was lost is asked again with the same idempotency key.
 */
export class ChaosClient {
  readonly known: Known[] = [];
  acknowledged = 0;
  readonly #random: () => number;
  #unanswered: string | null = null;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Works until the server goes away under it, or until told. */
  async work(url: string, goOn: () => boolean): Promise<void> {
    while (goOn()) {
      try {
        if (this.#unanswered !== null || this.known.length < 3 || this.#random() < 0.3) await this.#create(url);
        else await this.#change(url);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        return;
      }
    }
  }

  /** A create whose answer was lost, now that there is a server again: it must give one sandbox, not two. */
  async finish(url: string): Promise<void> {
    if (this.#unanswered !== null) await this.#create(url);
  }

  async #create(url: string): Promise<void> {
    this.#unanswered ??= newId('request');
    const answer = await call(url, 'POST', '/v1/sandboxes', {
      body: { labels: { request: this.#unanswered }, waitSeconds: 30 },
      headers: { 'idempotency-key': this.#unanswered },
    });
    if (answer.status !== 201) throw new Error(`create answered ${answer.status} ${JSON.stringify(answer.body)}`);
    const { id, state, incarnation } = answer.body as Sandbox;
    this.known.push({ id, state, incarnation, asked: null });
    this.#unanswered = null;
    this.acknowledged += 1;
  }

  async #change(url: string): Promise<void> {
    const candidates = this.known.filter((one) => one.state !== 'destroyed' && one.asked === null);
    const one = candidates[Math.floor(this.#random() * candidates.length)];
    if (!one) return this.#create(url);
    const actions: Action[] =
      one.state === 'stopped' ? ['start', 'recreate', 'destroy'] : ['stop', 'recreate', 'destroy'];
    const action = actions[Math.floor(this.#random() * actions.length)] ?? 'destroy';
    one.asked = action;
    const answer =
      action === 'destroy'
        ? await call(url, 'DELETE', `/v1/sandboxes/${one.id}`)
        : await call(url, 'POST', `/v1/sandboxes/${one.id}/${action}`, { body: {} });
    if (answer.status !== 200) throw new Error(`${action} answered ${answer.status} ${JSON.stringify(answer.body)}`);
    Object.assign(one, { state: answer.body.state, incarnation: answer.body.incarnation, asked: null });
    this.acknowledged += 1;
  }

  /** What the record may say now: what was acknowledged, or what was asked and has been finished since. */
  static allows(one: Known, sandbox: Sandbox): boolean {
    const kept = sandbox.state === one.state && sandbox.incarnation === one.incarnation;
    if (one.asked === null) return kept;
    const raised = one.asked === 'recreate' ? 1 : 0;
    return kept || (sandbox.state === leadsTo[one.asked] && sandbox.incarnation === one.incarnation + raised);
  }
}
