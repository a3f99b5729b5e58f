import type { Id, Sandbox } from '@caisson/contract';
import type { Driver } from '../../drivers/driver.ts';
import type { Still } from '../../storage/storage.ts';
import { Turns } from '../../turns/turns.ts';
import { keyOf } from '../end.ts';

/**
 * One after the other for each sandbox: what lets its processes stand still or go on, and what changes where its files
 * stand. A snapshot that thaws what somebody has just paused, or that is taken in the middle of a rollback, cannot be.
 */
export class Stillness {
  readonly #turns = new Turns();

  take<T>(id: Id<'sandbox'>, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#turns.take(id, signal, work);
  }

  /** The same for somebody who need not wait: what is at it, or waits, ends with the reason. */
  async takeOver<T>(id: Id<'sandbox'>, signal: AbortSignal, reason: Error, work: () => Promise<T>): Promise<T> {
    this.#turns.interrupt(id, reason);
    return this.#turns.take(id, signal, work);
  }

  /** Whether somebody is at it, and whatever stands still does so for a reason. */
  isTaken(id: Id<'sandbox'>): boolean {
    return this.#turns.isTaken(id);
  }
}

/**
 * Lets every process of a sandbox stand still for one step. A server that is killed meanwhile leaves them so; the
 * reconciler finds one that should run, and lets it go on.
 */
export class StillMoment {
  readonly #driver: Driver;
  readonly #sandbox: Sandbox;
  #ms: number | null = null;

  constructor(driver: Driver, sandbox: Sandbox) {
    this.#driver = driver;
    this.#sandbox = sandbox;
  }

  /** How long they stood still; null for one that did not move anyway. */
  get ms(): number | null {
    return this.#ms;
  }

  readonly run: Still = async (step) => {
    const { pause, resume } = this.#driver;
    // One that is paused or stopped moves nothing.
    if (this.#sandbox.state !== 'ready' || !pause || !resume) return step();
    const key = keyOf(this.#sandbox);
    const never = new AbortController().signal;
    const began = performance.now();
    await pause.call(this.#driver, key, never);
    try {
      return await step();
    } finally {
      // One that was destroyed meanwhile has nothing to go on with.
      await resume.call(this.#driver, key, never).catch(() => {});
      this.#ms = performance.now() - began;
    }
  };
}
