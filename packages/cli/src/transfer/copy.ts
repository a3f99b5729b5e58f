import { CaissonError } from '@caisson/contract';
import type { CommandContext } from '../command-context.ts';
import type { CopyOptions } from '../commands/cp.ts';
import { findSandbox } from '../find-sandbox.ts';
import { bytesText } from '../output/bytes.ts';
import { printable } from '../output/printable.ts';
import { withProgress } from '../output/progress.ts';
import { copyIn } from './copy-in.ts';
import { type Copied, copyOut } from './copy-out.ts';
import { parsePlace } from './place.ts';

/** How much can be read of what was left behind; the number of all is told. */
const shownSkips = 20;

/** Copies a file or a folder into a sandbox or out of it. */
export async function copy(from: string, to: string, options: CopyOptions, context: CommandContext): Promise<void> {
  const { screen, invocation } = context;
  const source = parsePlace(from);
  const target = parsePlace(to);
  const inside = source.kind === 'sandbox' ? source : target.kind === 'sandbox' ? target : undefined;
  const outside = source.kind !== 'sandbox' ? source : target.kind !== 'sandbox' ? target : undefined;
  if (inside === undefined || outside === undefined) {
    throw new CaissonError('request_invalid', 'one side of a copy is in a sandbox, the other is here', {
      hint: 'Write the one as <sandbox>:<path>; a path here with a colon as ./a:b.',
    });
  }
  const skipped: string[] = [];
  let skips = 0;
  const copied = await withProgress(screen, `copying ${from}`, async (say): Promise<Copied> => {
    const sandbox = await findSandbox(await context.connect(options), inside.sandbox);
    let bytes = 0;
    const events = {
      user: options.user,
      // Only a terminal sees the bytes move; elsewhere each number would be a line.
      count: (more: number) => {
        bytes += more;
        if (screen.err.isTTY) say(`copying ${from}: ${bytesText(bytes)}`);
      },
      skipped: (path: string, what: string) => {
        skips += 1;
        if (skips > shownSkips) return;
        skipped.push(path);
        if (!screen.wantsJson) screen.note(`left behind: ${printable(path)} ${what}`);
      },
    };
    const stdio = invocation.stdio();
    if (inside === source) return copyOut(sandbox.files, inside.path, outside, stdio, events);
    return copyIn(sandbox.files, outside, inside.path, options.parents === true, stdio, events);
  });
  if (skips > shownSkips && !screen.wantsJson) screen.note(`left behind: ${skips} in all`);
  if (target.kind === 'stream') return;
  const result = { ...copied, skips, skipped };
  if (screen.wantsJson) screen.json(result);
  else if (screen.err.isTTY) screen.note(`${bytesText(copied.bytes)} to ${printable(copied.path)}`);
}
