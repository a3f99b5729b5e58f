import type { ProcessOutput } from './process-output.ts';

export interface Collected {
  readonly bytes: Buffer;
  readonly dropped: number;
}

/** All output up to what the process itself wrote, of which at most `maxBytes` are kept. */
export async function collect(output: ProcessOutput, maxBytes: number, total: Promise<number>): Promise<Collected> {
  const chunks: Uint8Array[] = [];
  let kept = 0;
  let dropped = 0;
  let wanted = Number.POSITIVE_INFINITY;
  void total.then(
    (bytes) => {
      wanted = bytes;
      if (output.offset >= wanted) output.stop();
    },
    () => output.stop(),
  );
  for await (const chunk of output) {
    const room = Math.max(0, maxBytes - kept);
    const part = chunk.byteLength <= room ? chunk : chunk.subarray(0, room);
    // A small piece of a large chunk would keep all of that alive.
    if (part.byteLength > 0) chunks.push(Buffer.from(part));
    kept += part.byteLength;
    dropped += chunk.byteLength - part.byteLength;
    if (output.offset >= wanted) output.stop();
  }
  return { bytes: Buffer.concat(chunks), dropped };
}
