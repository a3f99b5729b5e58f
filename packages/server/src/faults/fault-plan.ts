import { CaissonError, type ErrorCode } from '@caisson/contract';

/**
 * Faults on demand, for the fake driver and the in-memory storage. A step is a place in their code with a name, such as
 * `create.made`; what a test planned for it happens there, as often as it was planned.
 *
 * - `fail`: the step throws the given code.
 * - `hang`: the step waits until its signal is aborted, and then throws its reason.
 * - `wedge`: the step never settles, whatever its signal says: a backend that ignores us.
 * - `vanish`: the step calls the owner's `vanish`, which removes the thing at once, and goes on.
 */
export type Fault =
  | { readonly kind: 'fail'; readonly code?: ErrorCode; readonly message?: string }
  | { readonly kind: 'hang' }
  | { readonly kind: 'wedge' }
  | { readonly kind: 'vanish' };

export class FaultPlan<Step extends string> {
  readonly #planned = new Map<Step, { fault: Fault; times: number }>();
  readonly #met: Step[] = [];
  readonly #defaultCode: ErrorCode;

  constructor(defaultCode: ErrorCode) {
    this.#defaultCode = defaultCode;
  }

  plan(step: Step, fault: Fault, times = 1): this {
    this.#planned.set(step, { fault, times });
    return this;
  }

  clear(): void {
    this.#planned.clear();
  }

  /** Every step passed so far, in order. */
  get met(): readonly Step[] {
    return this.#met;
  }

  async pass(step: Step, signal: AbortSignal, vanish: () => void = () => {}): Promise<void> {
    signal.throwIfAborted();
    this.#met.push(step);
    const fault = this.#take(step);
    if (fault === undefined) return;
    switch (fault.kind) {
      case 'fail':
        throw new CaissonError(fault.code ?? this.#defaultCode, fault.message ?? `planned fault at ${step}`);
      case 'hang':
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
        );
      case 'wedge':
        return new Promise(() => {});
      case 'vanish':
        vanish();
    }
  }

  #take(step: Step): Fault | undefined {
    const planned = this.#planned.get(step);
    if (planned === undefined) return undefined;
    planned.times -= 1;
    if (planned.times <= 0) this.#planned.delete(step);
    return planned.fault;
  }
}
