import type { Layer, Layers } from '../layers.ts';
import type { LayerContent } from './content.ts';

/** One stream does not fill a line, and more than a few only take the processor from each other. */
const atOnce = 3;

/**
 * Unpacks the layers that are not there yet, a few at a time. The first failure ends the others. Gives all of them,
 * lowest first; one that an image has twice is given once, at its upper place, where it covers the lower one anyway and
 * where an overlay takes it.
 */
export async function fetchLayers(
  contents: readonly LayerContent[],
  layers: Layers,
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<Layer[]> {
  const unique = contents.filter(({ diffId }, n) => contents.findLastIndex((other) => other.diffId === diffId) === n);
  const waiting = unique.filter(({ diffId }) => !layers.has(diffId));
  if (waiting.length > 0) progress(`${waiting.length} of ${unique.length} layers to fetch${sizeOf(waiting)}`);
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const found = new Map<string, Layer>();
  let done = 0;
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      found.set(next.diffId, await layers.ensure(next.diffId, next.open, either));
      progress(`layer ${++done} of ${total}: ${found.get(next.diffId)?.counts?.entries ?? 0} entries`);
    }
  };
  const total = waiting.length;
  const workers = Array.from({ length: Math.min(atOnce, total) }, () =>
    work().catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  const ends = await Promise.allSettled(workers);
  signal.throwIfAborted();
  const failure = failed.signal.aborted ? failed.signal.reason : undefined;
  if (ends.some((end) => end.status === 'rejected')) throw failure;
  return unique.map(({ diffId }) => found.get(diffId) ?? { diffId, folder: layers.folderOf(diffId) });
}

function sizeOf(contents: readonly LayerContent[]): string {
  if (contents.some(({ size }) => size === undefined)) return '';
  const bytes = contents.reduce((sum, { size }) => sum + (size ?? 0), 0);
  return `, ${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
