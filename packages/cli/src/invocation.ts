import type { Readable, Writable } from 'node:stream';

/** Where text goes: a terminal, a pipe, or a test. */
export interface Sink {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Width of the terminal. */
  readonly columns?: number | undefined;
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
  /** The standard streams as bytes, for what passes through unchanged. */
  stdio(): Stdio;
  /** What to do when the reader of our output is gone; the run just ends when nothing is given. */
  whenOutputCloses(act: (() => void) | undefined): void;
}

/** The standard streams; each may be a terminal. */
export interface Stdio {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable;
}

export function processInvocation(argv: readonly string[], bin: string): Invocation {
  let outputCloses: (() => void) | undefined;
  // `caisson list | head` closes the pipe when it has seen enough: that is an end, not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exit(74);
    if (outputCloses === undefined) process.exit(0);
    outputCloses();
  });
  // Who does not listen to errors cannot be told of this one either.
  process.stderr.on('error', () => {});
  return {
    argv,
    env: process.env,
    bin,
    out: sinkOf(process.stdout),
    err: sinkOf(process.stderr),
    readStdin: (maxBytes) => readUpTo(process.stdin, maxBytes),
    stdio: () => ({ stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }),
    whenOutputCloses: (act) => {
      outputCloses = act;
    },
  };
}

function sinkOf(stream: NodeJS.WriteStream): Sink {
  return {
    write: (text) => void stream.write(text),
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
  };
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
