import type { Secret } from '@caisson/contract';
import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { collect } from '../input/key-value.ts';
import { table } from '../output/table.ts';
import { relativeTime } from '../output/time.ts';

interface ProjectChoice extends ServerChoice {
  readonly project?: string;
}

interface SetOptions extends ProjectChoice {
  readonly domain: string[];
  readonly port?: number[];
  readonly header?: { name: string; format: string };
  readonly placeholder?: string;
  readonly env?: string;
  readonly valueFile?: string;
}

export function addSecret(parent: Command, context: CommandContext): void {
  const secret = parent.command('secret').description('secrets that are put into requests on their way out');
  const inProject = (command: Command) =>
    withServer(command).option('--project <name>', 'another project of your tenant');

  inProject(
    secret.command('set').description('store a secret, or replace it; its value is asked for or read from stdin'),
  )
    .argument('<name>', 'what it is called')
    .requiredOption('--domain <domain>', 'where it goes: example.com or *.example.com; may be repeated', collect)
    .option('--header <header>', "the header that has it: 'Authorization: Bearer {}'", parseHeader)
    .option('--placeholder <text>', 'the text that stands for it inside; made up where it is needed')
    .option('--env <variable>', 'the variable that has the placeholder inside')
    .option('--port <number>', 'a port of its domains; 443 when none is given; may be repeated', collectPort)
    .option('--value-file <file>', 'read its value from a file, or from - for the standard input')
    .action((name: string, options: SetOptions) => set(name, options, context));

  inProject(secret.command('list').description('the secrets of your project, without their values')).action(
    async (options: ProjectChoice) => {
      const items = await (await context.connect(options)).secrets.list({ project: options.project });
      context.screen.result({ items }, () => (items.length === 0 ? 'no secrets' : secretTable(items)));
    },
  );

  inProject(secret.command('delete').description('delete a secret; from then on requests go out without it'))
    .argument('<name>', 'its name')
    .action(async (name: string, options: ProjectChoice) => {
      const deleted = await (await context.connect(options)).secrets.delete(name, { project: options.project });
      context.screen.result(deleted, () => deleted.name);
    });
}

async function set(name: string, options: SetOptions, { connect, invocation, screen }: CommandContext): Promise<void> {
  const { domain: domains, port: ports, header, placeholder, env, project } = options;
  const { readSecretValue } = await import('../input/secret-value.ts');
  const value = await readSecretValue(options.valueFile, name, invocation);
  const caisson = await connect(options);
  const stored = await caisson.secrets.set(
    name,
    {
      value,
      domains,
      ...(ports === undefined ? {} : { ports }),
      ...(header === undefined ? {} : { header }),
      ...(placeholder === undefined ? {} : { placeholder }),
      ...(env === undefined ? {} : { env }),
    },
    { project },
  );
  if (!screen.wantsJson && stored.placeholder !== null) screen.note(`inside it is ${stored.placeholder}`);
  screen.result(stored, () => stored.name);
}

function secretTable(items: readonly Secret[]): string {
  const rows = items.map((item) => [
    item.name,
    item.domains.join(' '),
    item.ports.join(' '),
    item.header ?? '-',
    item.placeholder ?? '-',
    item.env ?? '-',
    relativeTime(item.updatedAt),
    item.lastUsedAt === null ? 'never' : relativeTime(item.lastUsedAt),
  ]);
  return table(['NAME', 'DOMAINS', 'PORTS', 'HEADER', 'PLACEHOLDER', 'ENV', 'SET', 'USED'], rows);
}

/** `Authorization: Bearer {}`, or the name alone for a header that is the value. */
export function parseHeader(text: string): { name: string; format: string } {
  const colon = text.indexOf(':');
  if (colon === -1) return { name: text.trim(), format: '{}' };
  const format = text.slice(colon + 1).trim();
  if (!format.includes('{}')) {
    throw new InvalidArgumentError('Write {} where the value goes; the value itself is not given here.');
  }
  return { name: text.slice(0, colon).trim(), format };
}

function collectPort(text: string, previous: readonly number[] | undefined): number[] {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 65535.');
  return [...(previous ?? []), Number(text)];
}
