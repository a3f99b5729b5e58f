import { printable } from './printable.ts';
import type { Screen } from './screen.ts';

/** What takes less is over before a reader has seen it. */
const delayMs = 1_000;
const frameMs = 100;
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const clearLine = '\r\u001b[2K';

/**
 * Shows that something goes on, once it has taken a second: one moving line on a terminal, a line for each new step
 * elsewhere. With `--json` only a terminal sees it, because whoever reads the standard error then expects documents.
 * Written by hand: this is all we need of a library of progress bars.
 */
export async function withProgress<T>(
  screen: Pick<Screen, 'err' | 'wantsJson'>,
  what: string,
  work: (say: (step: string) => void) => Promise<T>,
): Promise<T> {
  const { err } = screen;
  const begun = Date.now();
  let text = printable(what);
  let shown = false;
  let frame = 0;
  const draw = () => {
    const seconds = Math.floor((Date.now() - begun) / 1000);
    err.write(`${clearLine}${frames[frame++ % frames.length]} ${text} (${seconds} s)`);
  };
  const show = () => {
    shown = true;
    if (err.isTTY) draw();
    else if (!screen.wantsJson) err.write(`${text} …\n`);
  };
  const timer = setTimeout(show, delayMs);
  const redraw = err.isTTY ? setInterval(() => shown && draw(), frameMs) : undefined;
  try {
    return await work((step) => {
      if (printable(step) === text) return;
      text = printable(step);
      if (shown) show();
    });
  } finally {
    clearTimeout(timer);
    clearInterval(redraw);
    if (shown && err.isTTY) err.write(clearLine);
  }
}
