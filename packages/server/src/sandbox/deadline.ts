import { CaissonError } from '@caisson/contract';
import { asDriverError } from './failure.ts';

/** A backend that honours its signal gets this long to put things in order; one that does not is left behind. */
const graceMs = 1_000;

/**
 * Runs work of a driver, which must end: when the time is over its signal is aborted, and when it then still does not settle it is
 * left behind. Either way the caller goes on with `driver_timeout`, or with the reason of the outer signal.
 */
export async function withDeadline<T>(
  what: string,
  ms: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  const timer = setTimeout(
    () => inner.abort(new CaissonError('driver_timeout', `${what} did not finish within ${ms} ms`)),
    ms,
  );
  const cancel = () => inner.abort(outer.reason);
  if (outer.aborted) cancel();
  outer.addEventListener('abort', cancel, { once: true });
  let grace: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    inner.signal.addEventListener('abort', () => {
      grace = setTimeout(() => reject(inner.signal.reason), graceMs);
    });
  });
  overdue.catch(() => {});
  try {
    inner.signal.throwIfAborted();
    const working = work(inner.signal);
    working.catch(() => {});
    return await Promise.race([working, overdue]);
  } catch (error) {
    // What a backend says about being cancelled matters less than why it was.
    throw inner.signal.aborted ? inner.signal.reason : asDriverError(error);
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    outer.removeEventListener('abort', cancel);
  }
}
