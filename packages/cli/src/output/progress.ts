import { printable } from './printable.ts';
import type { Screen } from './screen.ts';

/** What takes less is over before a reader has seen it. */
const delayMs = 1_000;
const frameMs = 100;
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/** Where lines stay, more often than this only fills a log; the newest is told when it is time. */
const paceMs = 1_000;
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
  let toldAt = Number.NEGATIVE_INFINITY;
  let late: NodeJS.Timeout | undefined;
  const draw = () => {
    const end = ` (${Math.floor((Date.now() - begun) / 1000)} s)`;
    // A line that wraps cannot be cleared; the first column is the wheel.
    const room = (err.columns || 80) - 3 - end.length;
    const shownText = text.length > room ? `${text.slice(0, Math.max(0, room - 1))}…` : text;
    err.write(`${clearLine}${frames[frame++ % frames.length]} ${shownText}${end}`);
  };
  const show = () => {
    shown = true;
    if (err.isTTY) draw();
    else if (!screen.wantsJson) tell();
  };
  const tell = () => {
    const wait = toldAt + paceMs - Date.now();
    if (wait > 0) {
      late ??= setTimeout(tell, wait);
      return;
    }
    late = undefined;
    toldAt = Date.now();
    err.write(`${text.replace(/[.… ]+$/, '')} …\n`);
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
    clearTimeout(late);
    clearInterval(redraw);
    if (shown && err.isTTY) err.write(clearLine);
  }
}
