import type { OutputChunk } from '@caisson/sdk';

const newline = 0x0a;

/** Keeps the last lines of each stream. What a sandbox keeps of a process is bounded, and so is what is held here. */
export class LastLines {
  readonly #lines: number;
  readonly #kept: Record<OutputChunk['stream'], Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  constructor(lines: number) {
    this.#lines = lines;
  }

  take({ stream, bytes }: OutputChunk): void {
    const all = Buffer.concat([this.#kept[stream], bytes]);
    this.#kept[stream] = all.subarray(this.#begin(all));
  }

  chunks(): OutputChunk[] {
    const chunks = (['stdout', 'stderr'] as const).map((stream) => ({ stream, bytes: this.#kept[stream] }));
    return chunks.filter(({ bytes }) => bytes.byteLength > 0);
  }

  /** Where the last lines begin. One that has not ended yet counts as a line. */
  #begin(bytes: Buffer): number {
    let at = bytes.at(-1) === newline ? bytes.length - 1 : bytes.length;
    for (let line = 0; line < this.#lines; line += 1) {
      if (at <= 0) return 0;
      at = bytes.lastIndexOf(newline, at - 1);
      if (at === -1) return 0;
    }
    return at + 1;
  }
}
