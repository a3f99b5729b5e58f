import { StringDecoder } from 'node:string_decoder';

/** The longest text of one event; a longer line comes in pieces. */
const pieceChars = 8 * 1024;
/** Enough for the message of a compiler; an error goes through logs and answers. */
const lastLinesMax = 30;
const lastLineChars = 500;

type Stream = 'stdout' | 'stderr';

/**
 * What a step prints, as text in whole lines where it can. After `maxBytes` that is said once and the rest is only looked
 * at: its last lines are kept, and the step goes on.
 */
export class StepLog {
  readonly #say: (text: string) => void;
  readonly #maxBytes: number;
  readonly #open: Record<Stream, { decoder: StringDecoder; text: string }> = { stdout: fresh(), stderr: fresh() };
  readonly #last: string[] = [];
  #bytes = 0;

  constructor(say: (text: string) => void, maxBytes: number) {
    this.#say = say;
    this.#maxBytes = maxBytes;
  }

  get lastLines(): readonly string[] {
    return this.#last;
  }

  push(stream: Stream, chunk: Uint8Array): void {
    const before = this.#bytes;
    this.#bytes += chunk.length;
    this.#take(
      stream,
      this.#open[stream].decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)),
      before < this.#maxBytes,
    );
    if (before < this.#maxBytes && this.#bytes >= this.#maxBytes)
      this.#say(`… the step has printed ${this.#maxBytes} bytes; what follows is not kept\n`);
  }

  /** What is left of lines without an end. */
  end(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const { decoder, text } = this.#open[stream];
      const rest = text + decoder.end();
      this.#open[stream] = fresh();
      if (rest !== '') this.#tell(`${rest}\n`, this.#bytes < this.#maxBytes);
    }
  }

  #take(stream: Stream, text: string, isTold: boolean): void {
    const open = this.#open[stream];
    open.text += text;
    const end = open.text.lastIndexOf('\n') + 1;
    const whole = open.text.length - end > pieceChars ? open.text.length : end;
    if (whole === 0) return;
    this.#tell(open.text.slice(0, whole), isTold);
    open.text = open.text.slice(whole);
  }

  #tell(text: string, isTold: boolean): void {
    // Of a flood only the end can be among the last lines.
    const lines = text.slice(-lastLinesMax * lastLineChars).split('\n');
    for (const line of lines) if (line.trim() !== '') this.#last.push(line.trimEnd().slice(0, lastLineChars));
    this.#last.splice(0, this.#last.length - lastLinesMax);
    if (!isTold) return;
    for (let at = 0; at < text.length; at += pieceChars) this.#say(text.slice(at, at + pieceChars));
  }
}

function fresh(): { decoder: StringDecoder; text: string } {
  return { decoder: new StringDecoder('utf8'), text: '' };
}
