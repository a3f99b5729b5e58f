import { type Sandbox, type SandboxState, sandboxStates } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { collectKeyValue, parseCount } from '../input/key-value.ts';
import { sandboxTable } from '../output/sandbox-text.ts';

interface ListOptions extends ServerChoice {
  readonly state?: SandboxState[];
  readonly profile?: string;
  readonly label?: Record<string, string>;
  readonly name?: string;
  readonly project?: string;
  readonly principal?: string;
  readonly all?: boolean;
  readonly limit: number;
  readonly after?: string;
}

/** The largest page that the API gives. */
const maxPage = 200;

export function addList(parent: Command, context: CommandContext): void {
  withServer(parent.command('list').description('sandboxes of your project, newest first'))
    .addOption(new Option('--state <state...>', 'only in these states').choices([...sandboxStates]))
    .option('-p, --profile <name>', 'only of this profile')
    .option('-l, --label <key=value>', 'only with this label; may be repeated, all must match', collectKeyValue)
    .option('-n, --name <name>', 'only with this name')
    .option('--project <name>', 'another project of your tenant')
    .option('--principal <name>', 'only of this principal')
    .option('-a, --all', 'destroyed ones too')
    .option('--limit <count>', 'at most so many', parseCount, 50)
    .option('--after <cursor>', '`next` of an earlier list')
    .action(async (options: ListOptions) => list(options, context));
}

async function list(options: ListOptions, { connect, screen }: CommandContext): Promise<void> {
  const caisson = await connect(options);
  const { state, profile, label, name, project, principal, all, limit } = options;
  const filter = { state, profile, labels: label, name, project, principal, all };
  const items: Sandbox[] = [];
  let next: string | null = options.after ?? null;
  do {
    const size = Math.min(maxPage, limit - items.length);
    const page = await caisson.sandboxes.page(filter, { limit: size, ...(next === null ? {} : { after: next }) });
    items.push(...page.items.map(({ record }) => record));
    next = page.next;
  } while (next !== null && items.length < limit);
  screen.result({ items, next }, () => (items.length === 0 ? 'no sandboxes' : sandboxTable(screen, items)));
  if (next !== null && !screen.wantsJson) screen.note(`there are more: --limit ${limit * 2}, or --after ${next}`);
}
