/** Records are read in pages of this many: enough to catch up quickly, few enough to hold for a slow reader. */
const pageSize = 200;

/** A log with positions that only rise. */
export interface Followed<Row extends { readonly position: number }> {
  list(after: number, limit: number): Promise<readonly Row[]>;
  /** Calls when there is something new; gives back how to stop it. */
  subscribe(wake: () => void): () => void;
}

/**
 * A log as a live stream: every record after a position, then each new one, until the signal. A reader always reads from
 * the log, from its own position; what is written meanwhile only wakes it up. So a slow reader holds one page in memory
 * and misses nothing.
 */
export async function* followLog<Row extends { readonly position: number }>(
  log: Followed<Row>,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  let position = after;
  let woken = false;
  let wake = () => {};
  const unsubscribe = log.subscribe(() => {
    woken = true;
    wake();
  });
  const abort = () => wake();
  signal.addEventListener('abort', abort);
  try {
    while (!signal.aborted) {
      woken = false;
      const page = await log.list(position, pageSize);
      for (const row of page) {
        if (signal.aborted) return;
        position = row.position;
        yield row;
      }
      if (page.length === pageSize || woken) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (signal.aborted || woken) resolve();
      });
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', abort);
  }
}
