import { type CreditTransfer, type UsageRecord, usageRecordSchema } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseCredits } from '../input/credits.ts';
import { parseCount } from '../input/key-value.ts';
import { parseMoment } from '../input/moment.ts';
import { balanceText, creditText, historyTable } from '../output/credit-text.ts';
import { type ExportForm, exportLines } from '../output/export-lines.ts';

interface OfTenant extends ServerChoice {
  readonly tenant?: string;
}

interface AddOptions extends OfTenant {
  readonly note?: string;
  readonly reference?: string;
}

interface HistoryOptions extends OfTenant {
  readonly sandbox?: string;
  readonly limit: number;
}

interface UsageOptions extends OfTenant, ExportForm {
  readonly project?: string;
  readonly sandbox?: string;
  readonly since?: string;
  readonly until?: string;
}

const ofTenant = (command: Command) =>
  withServer(command).option('--tenant <name>', "the operator's choice; else your own");

export function addCredits(parent: Command, context: CommandContext): void {
  const credits = parent.command('credits').description('credits: what a tenant has, holds and has used');

  ofTenant(credits.command('show').description('how many there are')).action(async (options: OfTenant) => {
    const balance = await (await context.connect(options)).credits.show({ tenant: options.tenant });
    context.screen.result(balance, () => balanceText(balance));
  });

  ofTenant(credits.command('add').description('give credits; from the first on the tenant is limited to them'))
    .argument('<amount>', 'in credits: 25, 0.5; with a minus, after --, to take them back', parseCredits)
    .option('--note <text>', 'why')
    .option('--reference <text>', 'such as an invoice: given twice, it counts once')
    .action(async (amountMicros: number, options: AddOptions) => {
      const { tenant, note, reference } = options;
      const balance = await (await context.connect(options)).credits.add({
        amountMicros,
        ...(tenant === undefined ? {} : { tenant }),
        ...(note === undefined ? {} : { note }),
        ...(reference === undefined ? {} : { reference }),
      });
      context.screen.result(balance, () => balanceText(balance));
    });

  for (const [name, on] of [
    ['off', false],
    ['on', true],
  ] as const) {
    const what = on ? 'a tenant pays again' : 'a tenant pays nothing and is refused nothing; its usage is told as ever';
    ofTenant(credits.command(name).description(what)).action(async (options: OfTenant) => {
      const { tenant } = options;
      const wanted = { on, ...(tenant === undefined ? {} : { tenant }) };
      const balance = await (await context.connect(options)).credits.switch(wanted);
      context.screen.result(balance, () => balanceText(balance));
    });
  }

  ofTenant(credits.command('history').description('every movement, newest first'))
    .option('--sandbox <id>', 'of one sandbox')
    .option('--limit <count>', 'how many', parseCount, 50)
    .action(async (options: HistoryOptions) => {
      const { tenant, sandbox, limit } = options;
      const items: CreditTransfer[] = [];
      for await (const one of (await context.connect(options)).credits.history({ tenant, sandbox })) {
        items.push(one);
        if (items.length >= limit) break;
      }
      context.screen.result({ items }, () => (items.length === 0 ? 'no credits were moved' : historyTable(items)));
    });
}

export function addUsage(parent: Command, context: CommandContext): void {
  const usage = parent.command('usage').description('what sandboxes of a tenant that pays have used');
  ofTenant(usage.command('export').description('stretch by stretch, oldest first; with --json a line for each'))
    .option('--project <name>', 'of one project')
    .option('--sandbox <id>', 'of one sandbox')
    .option('--since <when>', 'from here on: 24h, 7d, 2026-11-15', (text) => parseMoment(text))
    .option('--until <when>', 'before this', (text) => parseMoment(text))
    .option('--csv', 'as CSV with a header')
    .action(async (options: UsageOptions) => {
      const { tenant, project, sandbox, since, until, csv } = options;
      const asked = { tenant, project, sandbox, since, until };
      const filter = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
      const records = (await context.connect(options)).credits.exportUsage(filter);
      await exportLines(context.screen, records, Object.keys(usageRecordSchema.shape), { csv }, lineOf);
    });
}

function lineOf({ sandbox, project, phase, to, seconds, chargedMicros }: UsageRecord): string {
  return `${to}  ${sandbox}  ${project}  ${phase}  ${seconds} s  ${creditText(chargedMicros)}`;
}
