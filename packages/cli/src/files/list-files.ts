import { hasCode } from '@caisson/contract';
import type { CommandContext } from '../command-context.ts';
import type { ListFilesOptions } from '../commands/files.ts';
import { findSandbox } from '../find-sandbox.ts';
import { fileTable } from '../output/file-text.ts';
import { printable } from '../output/printable.ts';
import { withProgress } from '../output/progress.ts';

/** The most that the API gives at once. */
const limit = 10_000;
const deepest = 64;

export async function listFiles(
  ref: string,
  path: string,
  options: ListFilesOptions,
  context: CommandContext,
): Promise<void> {
  const { screen } = context;
  const { user } = options;
  const { entries, truncated } = await withProgress(screen, `reading ${path}`, async () => {
    const { files } = await findSandbox(await context.connect(options), ref);
    try {
      return await files.list(path, { user, limit, ...(options.recursive === true ? { depth: deepest } : {}) });
    } catch (error) {
      // A file is its own list.
      if (!hasCode(error, 'file_not_directory')) throw error;
      return { entries: [await files.stat(path, { user, follow: false })], truncated: false };
    }
  });
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  if (truncated && !screen.wantsJson) screen.note(`only the first ${entries.length} are shown`);
  if (screen.wantsJson) return screen.json({ entries: sorted, truncated });
  if (sorted.length === 0) return;
  if (options.long === true) return screen.print(fileTable(sorted));
  screen.print(sorted.map(({ path: name, kind }) => `${printable(name)}${kind === 'directory' ? '/' : ''}`).join('\n'));
}
