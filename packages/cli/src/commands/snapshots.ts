import { type Snapshot, snapshotKinds } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { collectKeyValue, parseCount } from '../input/key-value.ts';
import { snapshotTable, snapshotText } from '../output/snapshot-text.ts';

interface ListOptions extends ServerChoice {
  readonly kind?: Snapshot['kind'];
  readonly usage?: boolean;
  readonly limit: number;
}

const what = 'its id, or <sandbox>:<name>';

export function addSnapshots(parent: Command, context: CommandContext): Command {
  const group = parent.command('snapshots').description('what has been kept of sandboxes');
  addLooking(group, context);
  addChanging(group, context);
  return group;
}

function addLooking(group: Command, { connect, screen }: CommandContext): void {
  withServer(group.command('list').description('snapshots of your project, newest first'))
    .argument('[sandbox]', 'only of this one: id or name')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices([...snapshotKinds]))
    .option('--usage', 'with the space of each; takes longer')
    .option('--limit <count>', 'at most so many', parseCount, 50)
    .action(async (ref: string | undefined, options: ListOptions) => {
      const caisson = await connect(options);
      const { findSandbox } = await import('../find-sandbox.ts');
      const sandbox = ref === undefined ? undefined : (await findSandbox(caisson, ref)).id;
      const { kind, usage, limit } = options;
      const items: Snapshot[] = [];
      for await (const one of caisson.snapshots.list({ sandbox, kind, usage }, { limit: Math.min(limit, 200) })) {
        if (items.length === limit) break;
        items.push(one);
      }
      screen.result({ items }, () => (items.length === 0 ? 'no snapshots' : snapshotTable(items)));
    });

  withServer(group.command('get').description('one snapshot, with the space that it takes'))
    .argument('<snapshot>', what)
    .action(async (ref: string, options: ServerChoice) => {
      const caisson = await connect(options);
      const { findSnapshot } = await import('../find-snapshot.ts');
      const snapshot = await caisson.snapshots.get((await findSnapshot(caisson, ref)).id);
      screen.result(snapshot, () => snapshotText(snapshot));
    });
}

function addChanging(group: Command, { connect, screen }: CommandContext): void {
  withServer(group.command('delete').description('remove snapshots; what was made from them stays'))
    .argument('<snapshot...>', what)
    .action(async (refs: string[], options: ServerChoice) => {
      const caisson = await connect(options);
      const { findSnapshot } = await import('../find-snapshot.ts');
      const items: Snapshot[] = [];
      for (const ref of refs) items.push(await caisson.snapshots.delete((await findSnapshot(caisson, ref)).id));
      screen.result({ items }, () => items.map(({ id }) => id).join('\n'));
    });

  withServer(group.command('label').description('give a snapshot a name, which keeps it for good, or other labels'))
    .argument('<snapshot>', what)
    .option('-n, --name <name>', 'a name of your own')
    .option('-l, --label <key=value>', 'label; may be repeated; in place of the old ones', collectKeyValue)
    .action(async (ref: string, options: ServerChoice & { name?: string; label?: Record<string, string> }) => {
      const caisson = await connect(options);
      const { findSnapshot } = await import('../find-snapshot.ts');
      const { name, label: labels } = options;
      const change = { ...(name === undefined ? {} : { name }), ...(labels === undefined ? {} : { labels }) };
      const snapshot = await caisson.snapshots.label((await findSnapshot(caisson, ref)).id, change);
      screen.result(snapshot, () => snapshotText(snapshot));
    });
}
