import { type ActorType, type ApiKey, actorTypes, type Scope, scopes } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseWholeDuration } from '../input/duration.ts';
import { printable } from '../output/printable.ts';
import { table } from '../output/table.ts';
import { relativeTime } from '../output/time.ts';

interface CreateKeyOptions extends ServerChoice {
  readonly scope: Scope;
  readonly tenant?: string;
  readonly project?: string;
  readonly principal?: string;
  readonly expires?: number;
  readonly type?: ActorType;
}

export function addKeys(parent: Command, context: CommandContext): void {
  const keys = parent.command('keys').description('API keys');

  withServer(keys.command('create').description('make an API key; it is shown this once'))
    .argument('<name>', 'what it is for')
    .addOption(new Option('--scope <scope>', 'what it may do').choices([...scopes]).default('use'))
    .option('--tenant <name>', 'whose it is')
    .option('--project <name>', 'its project')
    .option('--principal <name>', 'in whose name it acts')
    .addOption(new Option('--type <type>', 'what a principal is that is not known yet').choices([...actorTypes]))
    .option('--expires <duration>', 'when it ends: 12h, 30d', parseWholeDuration)
    .action((name: string, options: CreateKeyOptions) => create(name, options, context));

  withServer(keys.command('list').description('API keys of your tenant')).action(async (options: ServerChoice) => {
    const items: ApiKey[] = [];
    for await (const key of (await context.connect(options)).keys.list()) items.push(key);
    context.screen.result({ items, next: null }, () => (items.length === 0 ? 'no keys' : keyTable(items)));
  });

  withServer(keys.command('revoke').description('revoke an API key; it stops working at once'))
    .argument('<key>', 'its id')
    .action(async (id: string, options: ServerChoice) => {
      const key = await (await context.connect(options)).keys.revoke(id);
      context.screen.result(key, () => key.id);
    });
}

async function create(name: string, options: CreateKeyOptions, { connect, screen }: CommandContext): Promise<void> {
  const { scope, tenant, project, principal, expires, type } = options;
  const caisson = await connect(options);
  const key = await caisson.keys.create({
    name,
    scope,
    ...(tenant === undefined ? {} : { tenant }),
    ...(project === undefined ? {} : { project }),
    ...(principal === undefined ? {} : { principal }),
    ...(expires === undefined ? {} : { expiresInSeconds: expires }),
    ...(type === undefined ? {} : { actorType: type }),
  });
  if (!screen.wantsJson) screen.note(`${key.id} (${printable(key.name)}, ${key.scope}); it is shown only this once:`);
  // Alone on the standard output: KEY=$(caisson keys create ci)
  screen.result(key, () => key.secret);
}

function keyTable(items: readonly ApiKey[]): string {
  return table(
    ['ID', 'NAME', 'SCOPE', 'OWNER', 'CREATED', 'STATE'],
    items.map((key) => [
      key.id,
      key.name,
      key.scope,
      [key.owner.tenant, key.owner.project, key.owner.principal].join(' / '),
      relativeTime(key.createdAt),
      keyState(key),
    ]),
  );
}

function keyState(key: ApiKey): string {
  if (key.revokedAt !== null) return `revoked ${relativeTime(key.revokedAt)}`;
  if (key.expiresAt === null) return 'valid';
  const when = relativeTime(key.expiresAt);
  return when.startsWith('in ') ? `expires ${when}` : `expired ${when}`;
}
