/** Where text goes: a terminal, a pipe, or a test. */
export interface Sink {
  write(text: string): void;
  readonly isTTY: boolean;
}

/** One run of the command: everything that it takes from outside. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file that was run. */
  readonly bin: string;
  readonly out: Sink;
  readonly err: Sink;
  readStdin(maxBytes: number): Promise<Buffer>;
}

export function processInvocation(argv: readonly string[], bin: string): Invocation {
  // `caisson list | head` closes the pipe when it has seen enough: that is an end, not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 74));
  return {
    argv,
    env: process.env,
    bin,
    out: sinkOf(process.stdout),
    err: sinkOf(process.stderr),
    readStdin: (maxBytes) => readUpTo(process.stdin, maxBytes),
  };
}

function sinkOf(stream: NodeJS.WriteStream): Sink {
  return { write: (text) => void stream.write(text), isTTY: stream.isTTY === true };
}

/** Reads to the end, or one byte more than allowed so that the reader of the text sees that it is too long. */
async function readUpTo(stream: AsyncIterable<Buffer | string>, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream) {
    pieces.push(Buffer.from(piece));
    bytes += pieces.at(-1)?.byteLength ?? 0;
    if (bytes > maxBytes) break;
  }
  return Buffer.concat(pieces).subarray(0, maxBytes + 1);
}
