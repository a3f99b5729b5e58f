import { CaissonError } from '@caisson/contract';
import type { Stdio } from '../invocation.ts';

const maxTyped = 65_536;

/** Asks on the terminal for a line that is not shown while it is typed. */
export async function askHidden({ stdin, stderr }: Stdio, question: string): Promise<string> {
  // Before the question: whoever answers quickly is not shown either.
  stdin.setRawMode?.(true);
  stderr.write(question);
  const typed = new TypedLine();
  try {
    stdin.resume();
    return await new Promise<string>((resolve, reject) => {
      const leave = () => reject(new CaissonError('interrupted', 'nothing was typed'));
      stdin.once('error', leave).once('end', leave);
      stdin.on('data', (piece: Buffer | string) => {
        const end = typed.take(piece.toString('utf8'));
        if (end === 'left') leave();
        else if (end === 'entered') resolve(typed.text);
      });
    });
  } finally {
    stdin.removeAllListeners('data');
    stdin.setRawMode?.(false);
    stdin.pause();
    stderr.write('\n');
  }
}

/** What has been typed so far, key by key, as a terminal in raw mode gives it. */
export class TypedLine {
  #characters: string[] = [];

  get text(): string {
    return this.#characters.join('');
  }

  take(keys: string): 'entered' | 'left' | undefined {
    for (const key of keys) {
      if (key === '\r' || key === '\n') return 'entered';
      // Ctrl-C, and Ctrl-D on nothing.
      if (key === '\u0003' || (key === '\u0004' && this.#characters.length === 0)) return 'left';
      if (key === '\u0004') return 'entered';
      if (key === '\u007f' || key === '\b') this.#characters.pop();
      else if (key === '\u0015') this.#characters = [];
      else if (this.#characters.length < maxTyped) this.#characters.push(key);
    }
    return undefined;
  }
}
