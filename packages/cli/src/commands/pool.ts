import type { Pool } from '@caisson/contract';
import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { table } from '../output/table.ts';

interface SetOptions extends ServerChoice {
  readonly min: number;
  readonly max: number;
}

export function addPool(parent: Command, context: CommandContext): void {
  const pool = parent.command('pool').description('warm pools: sandboxes made ahead, by profile');

  withServer(pool.command('show').description('each warm pool, and how it does')).action(
    async (options: ServerChoice) => {
      const items = await (await context.connect(options)).pools.list();
      context.screen.result({ items }, () => (items.length === 0 ? 'no warm pools' : poolTable(items)));
    },
  );

  withServer(pool.command('set').description("set the bounds of a profile's warm pool"))
    .argument('<profile>', 'its name')
    .requiredOption('--min <members>', 'how many there are always', parseMembers)
    .requiredOption('--max <members>', 'how many there may be when many are asked for', parseMembers)
    .action(async (profile: string, options: SetOptions) => {
      const { min, max } = options;
      const changed = await (await context.connect(options)).pools.set(profile, { min, max });
      context.screen.result(changed, () => poolTable([changed]));
    });
}

function poolTable(items: readonly Pool[]): string {
  const rows = items.map((item) => [
    item.profile,
    item.driver ?? '-',
    `${item.min}-${item.max}`,
    ...[item.wanted, item.ready, item.making, item.taken, item.misses].map(String),
    item.problem ?? '',
  ]);
  return table(['PROFILE', 'DRIVER', 'BOUNDS', 'WANTED', 'READY', 'MAKING', 'TAKEN', 'MISSES', 'PROBLEM'], rows);
}

function parseMembers(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('must be a whole number from 0 to 1000');
  return Number(text);
}
