import type { Id, Sandbox } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import type { Still } from '../storage/storage.ts';
import { Turns } from '../turns/turns.ts';
import { keyOf } from './end.ts';

/**
 * One after the other for each sandbox: what lets its processes stand still or go on, and what changes where its files
 * stand. A snapshot that thaws what somebody has just paused, or that is taken in the middle of a rollback, cannot be.
 */
export class Stillness {
  readonly #turns = new Turns();

  take<T>(id: Id<'sandbox'>, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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
export function stillOf(driver: Driver, sandbox: Sandbox): Still {
  const key = keyOf(sandbox);
  const never = new AbortController().signal;
  return async (step) => {
    // One that is paused or stopped moves nothing.
    if (sandbox.state !== 'ready' || !driver.pause || !driver.resume) return step();
    await driver.pause(key, never);
    try {
      return await step();
    } finally {
      // One that was destroyed meanwhile has nothing to go on with.
      await driver.resume(key, never).catch(() => {});
    }
  };
}
