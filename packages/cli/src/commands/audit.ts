import { type AuditEntry, auditEntrySchema } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseMoment } from '../input/moment.ts';
import { type ExportForm, exportLines } from '../output/export-lines.ts';

interface ExportOptions extends ServerChoice, ExportForm {
  readonly since?: string;
  readonly until?: string;
  readonly tenant?: string;
  readonly principal?: string;
  readonly action?: string;
  readonly subject?: string;
}

export function addAudit(parent: Command, context: CommandContext): void {
  const audit = parent.command('audit').description('the audit log: who did what to what, from where, with which end');
  withServer(audit.command('export').description('the log, oldest first; with --json a line of JSON for each'))
    .option('--since <when>', 'from here on: 24h, 7d, 2026-11-15', (text) => parseMoment(text))
    .option('--until <when>', 'before this', (text) => parseMoment(text))
    .option('--tenant <name>', "the operator's choice; else your own, or all for the operator")
    .option('--principal <name>', 'of one principal')
    .option('--action <name>', 'one action, or all that begin so: sandbox.create, sandbox.')
    .option('--subject <id>', 'about one thing')
    .option('--csv', 'as CSV with a header')
    .action(async (options: ExportOptions) => {
      const { since, until, tenant, principal, action, subject, csv } = options;
      const asked = { since, until, tenant, principal, action, subject };
      const filter = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
      const entries = (await context.connect(options)).audit.export(filter);
      await exportLines(context.screen, entries, Object.keys(auditEntrySchema.shape), { csv }, lineOf);
    });
}

function lineOf(entry: AuditEntry): string {
  const who = entry.tenant === null ? entry.actor : `${entry.tenant}/${entry.project}/${entry.principal}`;
  const end = [entry.status, entry.code].filter((part) => part !== null).join(' ');
  const times = entry.count > 1 ? ` (${entry.count} times)` : '';
  const parts = [entry.time, who, entry.action, entry.subject ?? '-', entry.address ?? '-', end, entry.detail ?? ''];
  return `${parts.join('  ').trimEnd()}${times}`;
}
