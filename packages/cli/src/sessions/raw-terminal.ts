import { spawnSync } from 'node:child_process';
import type { Stdio } from '../invocation.ts';

/** Shows the cursor, ends colours, mouse reports and bracketed paste: whatever a program inside had turned on. */
const usual = '\u001b[?25h\u001b[0m\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l';
const mainScreen = '\u001b[?1049l';
const ending = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

/**
 * Our terminal while it belongs to a process inside: every key goes there, also Ctrl-C.
 *
 * Law: however the run ends, by its own end, an error or a signal, the terminal is as it was before.
 */
export class RawTerminal {
  readonly #stdio: Stdio;
  #isRaw = false;
  #onOtherScreen = false;
  readonly #restore = () => this.restore();
  readonly #die = (signal: NodeJS.Signals) => {
    this.restore();
    process.kill(process.pid, signal);
  };

  constructor(stdio: Stdio) {
    this.#stdio = stdio;
  }

  begin(): void {
    if (this.#stdio.stdin.isTTY !== true) return;
    this.#isRaw = true;
    process.on('exit', this.#restore);
    for (const signal of ending) process.on(signal, this.#die);
    this.#stdio.stdin.setRawMode?.(true);
    // Node leaves a return with every new line, and a program that fills the screen has moved the cursor by itself. The
    // settings from before come back as a whole. Without `stty` some screens look torn.
    spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
  }

  /** Looks at what the process writes: only who is on the other screen may be taken back from it. */
  sees(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const entered = text.lastIndexOf('\u001b[?1049h');
    const left = text.lastIndexOf(mainScreen);
    if (entered !== left) this.#onOtherScreen = entered > left;
  }

  restore(): void {
    if (!this.#isRaw) return;
    this.#isRaw = false;
    process.off('exit', this.#restore);
    for (const signal of ending) process.off(signal, this.#die);
    this.#stdio.stdin.setRawMode?.(false);
    if (this.#stdio.stdout.isTTY === true) this.#stdio.stdout.write(`${this.#onOtherScreen ? mainScreen : ''}${usual}`);
  }
}

/** The size of our terminal, or the usual one where there is none. */
export function terminalSize({ stdout }: Stdio): { columns: number; rows: number } {
  return { columns: stdout.columns || 80, rows: stdout.rows || 24 };
}
