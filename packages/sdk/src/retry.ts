import { type CaissonError, type ErrorCode, hasCode, type Route } from '@caisson/contract';

/**
 * Failures between the client and the server that pass by themselves within moments. Other retryable errors of the
 * table (a full tenant, a busy sandbox) take longer than a caller should be kept waiting without being told.
 */
const passing: readonly ErrorCode[] = [
  'server_unreachable',
  'shutting_down',
  'database_unavailable',
  'rate_limited',
  'idempotency_in_progress',
  'request_timeout',
  'interrupted',
];

/** The first pause. Doubled each time: a server that restarts is back after one or two of them. */
const firstPauseMs = 200;
const longestPauseMs = 5_000;
/** A server that asks for more is told so to the caller instead. */
const longestRetryAfterSeconds = 30;

/** Repeating is safe where nothing changes, and where a key or an id makes the repetition the same request. */
export function mayRepeat(route: Pick<Route, 'method' | 'scope' | 'idempotencyKey' | 'repeatable'>): boolean {
  return route.method === 'GET' || route.scope === 'read' || route.idempotencyKey === true || route.repeatable === true;
}

export interface RetryOptions {
  readonly retries: number;
  readonly signal?: AbortSignal | undefined;
  /** A number in [0, 1); a test gives its own. */
  readonly random?: () => number;
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Runs `attempt` until it succeeds, fails for good, or has been repeated `retries` times. */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const wait = options.pause ?? pause;
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (failures >= options.retries || !hasCode(error, ...passing)) throw error;
      const asked = askedSeconds(error);
      if (asked > longestRetryAfterSeconds) throw error;
      await wait(Math.max(asked * 1000, pauseMs(failures, options.random)), options.signal);
    }
  }
}

/** Between half and the whole of the doubled pause: many clients of one server must not come back together. */
export function pauseMs(failures: number, random: () => number = Math.random): number {
  const whole = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures, 20));
  return whole * (0.5 + random() / 2);
}

function askedSeconds(error: CaissonError): number {
  const { retryAfterSeconds } = error.context;
  return typeof retryAfterSeconds === 'number' ? retryAfterSeconds : 0;
}

/** Rejects with the signal's reason when it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
