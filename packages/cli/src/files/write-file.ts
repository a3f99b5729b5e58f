import { CaissonError } from '@caisson/contract';
import type { CommandContext } from '../command-context.ts';
import type { WriteFileOptions } from '../commands/files.ts';
import { findSandbox } from '../find-sandbox.ts';
import { bytesText } from '../output/bytes.ts';
import { printable } from '../output/printable.ts';
import { withProgress } from '../output/progress.ts';
import { counted, webStream } from '../transfer/byte-streams.ts';

export async function writeFile(
  ref: string,
  path: string,
  options: WriteFileOptions,
  context: CommandContext,
): Promise<void> {
  const { screen, invocation } = context;
  const { stdin } = invocation.stdio();
  if (stdin.isTTY === true) {
    throw new CaissonError('request_invalid', 'the content comes from stdin, which is a terminal', {
      hint: '`caisson edit` edits a file; `caisson write … < file` writes one.',
    });
  }
  const { user, mode, parents } = options;
  const entry = await withProgress(screen, `writing ${path}`, async (say) => {
    const { files } = await findSandbox(await context.connect(options), ref);
    let bytes = 0;
    const content = counted(stdin, (more) => {
      bytes += more;
      if (screen.err.isTTY) say(`writing ${path}: ${bytesText(bytes)}`);
    });
    return files.write(path, webStream(content), { user, mode, parents });
  });
  screen.result(entry, () => `${printable(entry.path)}  ${bytesText(entry.size)}`);
}
