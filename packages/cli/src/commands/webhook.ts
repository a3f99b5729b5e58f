import type { DeadLetter, Webhook } from '@caisson/contract';
import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { fullType } from '../input/event-type.ts';
import { collect, collectKeyValue } from '../input/key-value.ts';
import { printable } from '../output/printable.ts';
import { table } from '../output/table.ts';
import { relativeTime } from '../output/time.ts';

interface AddOptions extends ServerChoice {
  readonly type?: string[];
  readonly label?: Record<string, string>;
  readonly description?: string;
  readonly after?: number;
  readonly project?: string;
}

export function addWebhook(parent: Command, context: CommandContext): void {
  const webhook = parent.command('webhook').description('addresses to which events are delivered, signed');

  withServer(webhook.command('add').description('deliver the events of the project; its secret is shown this once'))
    .argument('<url>', 'where to, by https')
    .option('-t, --type <type>', 'only events of this type: ready, destroyed; may be repeated', collect)
    .option('-l, --label <key=value>', 'only of sandboxes with this label; may be repeated', collectKeyValue)
    .option('--description <text>', 'what it is for')
    .option('--after <position>', 'begin after this position of the log; 0 is its beginning', parsePosition)
    .option('--project <name>', 'another project of your tenant')
    .action((url: string, options: AddOptions) => add(url, options, context));

  withServer(webhook.command('list').description('the webhooks of the project, and how far each has come'))
    .option('--project <name>', 'another project of your tenant')
    .action(async ({ project, ...options }: ServerChoice & { project?: string }) => {
      const items = await (await context.connect(options)).webhooks.list({ project });
      context.screen.result({ items }, () => (items.length === 0 ? 'no webhooks' : webhookTable(items)));
    });

  const one = (name: string, description: string) =>
    withServer(webhook.command(name).description(description)).argument('<webhook>', 'its id');

  one('test', 'deliver a test event now, once').action(async (id: string, options: ServerChoice) => {
    const caisson = await context.connect(options);
    const { withProgress } = await import('../output/progress.ts');
    const what = `delivering a test event to ${id}`;
    const tested = await withProgress(context.screen, what, () => caisson.webhooks.test(id));
    const words = tested.ok ? `${tested.status} in ${tested.ms} ms` : `not delivered: ${tested.error}`;
    context.screen.result(tested, () => printable(words));
    if (!tested.ok) context.exitWith(1);
  });

  one('remove', 'remove it; what was not delivered is not delivered any more').action(
    async (id: string, options: ServerChoice) => {
      const removed = await (await context.connect(options)).webhooks.remove(id);
      context.screen.result(removed, () => removed.id);
    },
  );

  one('rotate', 'make a new secret, shown this once; for a day the old one signs too').action(
    async (id: string, options: ServerChoice) => {
      const rotated = await (await context.connect(options)).webhooks.rotate(id);
      context.screen.result(rotated, () => rotated.secret);
    },
  );

  one('replay', 'deliver everything after a position of the log again')
    .requiredOption('--after <position>', 'a position of the log; 0 is its beginning', parsePosition)
    .action(async (id: string, { after, ...options }: ServerChoice & { after: number }) => {
      const replayed = await (await context.connect(options)).webhooks.replay(id, after);
      context.screen.result(replayed, () => `${replayed.id} goes on after ${after}`);
    });

  one('dead-letters', 'events that were given up, newest first, each with the reason').action(
    async (id: string, options: ServerChoice) => {
      const items: DeadLetter[] = [];
      for await (const letter of (await context.connect(options)).webhooks.deadLetters(id)) items.push(letter);
      context.screen.result({ items, next: null }, () => (items.length === 0 ? 'none' : letterTable(items)));
    },
  );
}

async function add(url: string, options: AddOptions, { connect, screen }: CommandContext): Promise<void> {
  const { type, label, description, after, project } = options;
  const caisson = await connect(options);
  const made = await caisson.webhooks.add({
    url,
    ...(type === undefined ? {} : { types: type.map(fullType) }),
    ...(label === undefined ? {} : { labels: label }),
    ...(description === undefined ? {} : { description }),
    ...(after === undefined ? {} : { after }),
    ...(project === undefined ? {} : { project }),
  });
  if (!screen.wantsJson) screen.note(`${made.id}; what is delivered is signed with this secret, shown only this once:`);
  // Alone on the standard output: SECRET=$(caisson webhook add https://…)
  screen.result(made, () => made.secret);
}

function webhookTable(items: readonly Webhook[]): string {
  return table(
    ['ID', 'URL', 'EVENTS', 'POSITION', 'HELD', 'DEAD', 'ERROR'],
    items.map((item) => [
      item.id,
      item.url,
      eventsText(item),
      String(item.position),
      String(item.held),
      String(item.deadLetters),
      item.error ?? '-',
    ]),
  );
}

function eventsText({ types, labels }: Webhook): string {
  const wanted = types === null ? 'all' : types.map((type) => type.replace(/^caisson\.sandbox\./, '')).join(' ');
  return [wanted, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)].join(' ');
}

function letterTable(items: readonly DeadLetter[]): string {
  return table(
    ['POSITION', 'SUBJECT', 'TYPE', 'TRIES', 'GIVEN UP', 'REASON'],
    items.map(({ position, subject, type, tries, at, error }) => [
      ...[String(position), subject, type, String(tries), relativeTime(at), error],
    ]),
  );
}

function parsePosition(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
