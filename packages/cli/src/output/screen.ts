import type { Invocation, Sink } from '../invocation.ts';

/** The few colours, each with a meaning. */
const codes = { good: 32, bad: 31, busy: 33, faint: 2 } as const;
export type Tone = keyof typeof codes;

/**
 * Where a command writes. Its result goes to the standard output: words for people, or with `--json` one document.
 * Everything else (notes, progress, errors) goes to the standard error, so that the result can be piped.
 */
export class Screen {
  readonly wantsJson: boolean;
  readonly out: Sink;
  readonly err: Sink;
  readonly #colour: boolean;

  constructor({ argv, env, out, err }: Pick<Invocation, 'argv' | 'env' | 'out' | 'err'>) {
    const end = argv.indexOf('--');
    this.wantsJson = argv.slice(0, end === -1 ? undefined : end).includes('--json');
    this.out = out;
    this.err = err;
    this.#colour = out.isTTY && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  }

  print(text: string): void {
    this.out.write(`${text}\n`);
  }

  /** Indented for people, on one line for programs. */
  json(value: unknown): void {
    this.print(this.out.isTTY ? JSON.stringify(value, null, 2) : JSON.stringify(value));
  }

  /** The result in the form that was asked for. */
  result(value: unknown, text: () => string): void {
    if (this.wantsJson) this.json(value);
    else this.print(text());
  }

  /** Something worth knowing that is not the result. */
  note(text: string): void {
    this.errorLine(text);
  }

  errorLine(text: string): void {
    this.err.write(`${text}\n`);
  }

  paint(text: string, tone: Tone | undefined): string {
    return this.#colour && tone !== undefined ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text;
  }
}
