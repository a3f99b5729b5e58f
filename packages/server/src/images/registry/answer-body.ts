const silenceMs = 30_000;

/** The body, given up when nothing comes for long. The time the reader takes does not count. */
export async function* bodyOf(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const silent = () => reader.cancel(new Error('silent')).catch(() => {});
  const aborted = () => reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener('abort', aborted, { once: true });
  let timedOut = false;
  try {
    for (;;) {
      const timer = setTimeout(() => {
        timedOut = true;
        void silent();
      }, silenceMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      signal.throwIfAborted();
      if (timedOut) throw new Error(`nothing came for ${silenceMs / 1000} s`);
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', aborted);
    await reader.cancel().catch(() => {});
  }
}
