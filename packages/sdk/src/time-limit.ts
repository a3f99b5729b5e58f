import { CaissonError } from '@caisson/contract';

/** What a server may take beyond the wait it was asked for. Too short, and a busy server is given up too soon. */
const marginSeconds = 60;

/** Runs one exchange so that a server which never answers cannot hold the caller for ever. */
export async function withTimeLimit<T>(
  waitSeconds: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const seconds = waitSeconds + marginSeconds;
  const limit = new AbortController();
  const late = new CaissonError('request_timeout', `the server did not answer within ${seconds} s`);
  // A timer holds at most 24 days, and takes more for nothing at all.
  const timer = seconds * 1000 < 2 ** 31 ? setTimeout(() => limit.abort(late), seconds * 1000) : undefined;
  const abort = () => limit.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await run(limit.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
