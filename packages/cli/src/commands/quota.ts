import type { Quota, QuotaLimits } from '@caisson/contract';
import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { table } from '../output/table.ts';

interface Place extends ServerChoice {
  readonly tenant?: string;
  readonly project?: string;
}

/** Commander takes null for an option without a value. */
type Limit = number | 'none';

interface SetOptions extends Place {
  readonly sandboxes?: Limit;
  readonly cpus?: Limit;
  readonly memory?: Limit;
  readonly disk?: Limit;
  readonly snapshots?: Limit;
  readonly builds?: Limit;
}

export function addQuota(parent: Command, context: CommandContext): void {
  const quota = parent.command('quota').description('what a tenant and its projects may have at the same time');
  const at = (command: Command) =>
    withServer(command)
      .option('--tenant <name>', "the operator's choice; else your own")
      .option('--project <name>', 'one project of it');

  at(quota.command('show').description('what is used, and what may be')).action(async (options: Place) => {
    const { tenant, project } = options;
    const items = await (await context.connect(options)).tenancy.quotas({ tenant, project });
    context.screen.result({ items }, () => quotaTable(items));
  });

  at(quota.command('set').description('set limits of a tenant, or with --project of a project; `none` takes one away'))
    .option('--sandboxes <count>', 'sandboxes that are not destroyed', parseLimit)
    .option('--cpus <number>', 'their processors, also parts of one', parseAmount)
    .option('--memory <MiB>', 'their memory', parseLimit)
    .option('--disk <MiB>', 'their disks', parseLimit)
    .option('--snapshots <count>', 'snapshots that are kept', parseLimit)
    .option('--builds <count>', 'builds that wait or run', parseLimit)
    .action(async (options: SetOptions) => {
      const { tenant, project, memory: memoryMiB, disk: diskMiB, sandboxes, cpus, snapshots, builds } = options;
      const given = Object.entries({ sandboxes, cpus, memoryMiB, diskMiB, snapshots, builds }).filter(
        ([, limit]) => limit !== undefined,
      );
      const limits: QuotaLimits = Object.fromEntries(
        given.map(([name, limit]) => [name, limit === 'none' ? null : limit]),
      );
      const place = { ...(tenant === undefined ? {} : { tenant }), ...(project === undefined ? {} : { project }) };
      const changed = await (await context.connect(options)).tenancy.setQuota({ ...place, limits });
      context.screen.result(changed, () => quotaTable([changed]));
    });
}

function quotaTable(items: readonly Quota[]): string {
  const rows = items.flatMap(({ tenant, project, items: resources }) =>
    resources.map(({ resource, used, limit }) => [
      project === null ? tenant : `${tenant} / ${project}`,
      resource,
      String(used),
      limit === null ? '-' : String(limit),
    ]),
  );
  return table(['OF', 'RESOURCE', 'USED', 'LIMIT'], rows);
}

function parseLimit(text: string): Limit {
  if (text === 'none') return text;
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, or `none`.');
  return Number(text);
}

function parseAmount(text: string): Limit {
  if (text === 'none') return text;
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(text))
    throw new InvalidArgumentError('It must be a number such as 4 or 0.5, or `none`.');
  return Number(text);
}
