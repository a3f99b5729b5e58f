import type { Caisson, DiffItem } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import type { DiffCommandOptions } from '../commands/snapshot-content.ts';
import { findSnapshot } from '../find-snapshot.ts';
import { diffSummary, diffText, fileDiffText } from '../output/diff-text.ts';
import { withProgress } from '../output/progress.ts';

/** The most of a page that is asked for at once: the first lines come soon. */
const pageLimit = 1_000;

export async function diffSnapshots(
  from: string,
  target: string,
  options: DiffCommandOptions,
  context: CommandContext,
): Promise<void> {
  const { screen } = context;
  const caisson = await context.connect(options);
  const { id } = await findSnapshot(caisson, from);
  const to = target === 'now' ? 'now' : (await findSnapshot(caisson, target)).id;
  const { file } = options;
  if (file !== undefined) {
    const found = await withProgress(screen, `comparing ${file}`, () => caisson.snapshots.diffFile(id, file, { to }));
    return screen.result(found, () => fileDiffText(screen, found));
  }
  const { items, skipped, next } = await withProgress(screen, `comparing ${from}`, (say) =>
    collect(caisson, { id, to, path: options.path, limit: options.limit }, say),
  );
  if (screen.wantsJson) return screen.json({ from: id, to, items, next, skipped });
  if (items.length > 0) screen.print(diffText(screen, items));
  screen.note(diffSummary(items));
  if (next !== null) screen.note(`there is more than the ${items.length} paths that were asked for; see --limit`);
  if (skipped > 0) screen.note(`${skipped} folders are too deep and were not looked into`);
}

async function collect(
  caisson: Caisson,
  wanted: { readonly id: string; readonly to: string; readonly path: string | undefined; readonly limit: number },
  say: (step: string) => void,
): Promise<{ items: DiffItem[]; skipped: number; next: string | null }> {
  const { id, to, path, limit } = wanted;
  const items: DiffItem[] = [];
  let skipped = 0;
  for (let after: string | undefined; ; ) {
    const page = await caisson.snapshots.diffPage(id, {
      to,
      path,
      after,
      limit: Math.min(pageLimit, limit - items.length),
    });
    items.push(...page.items);
    skipped += page.skipped;
    if (page.next === null || items.length >= limit) return { items, skipped, next: page.next };
    after = page.next;
    say(`comparing: ${items.length} paths differ so far`);
  }
}
