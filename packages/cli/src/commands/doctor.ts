import { errorKinds } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { pairs, table } from '../output/table.ts';

export function addDoctor(parent: Command, context: CommandContext): void {
  const { screen } = context;
  withServer(
    parent.command('doctor').description('what this installation can do, what it cannot, and what would change that'),
  ).action(async (options: ServerChoice) => {
    const report = await (await context.connect(options)).doctor();
    screen.result(report, () => {
      const rows = report.checks.map(({ name, ok, optional, detail }) => [
        {
          text: ok ? '✓' : optional ? '-' : '✗',
          paint: (text: string) => (ok || !optional ? screen.paint(text, ok ? 'good' : 'bad') : text),
        },
        name,
        detail,
      ]);
      const fixes = report.checks.flatMap(({ name, fix }) => (fix === null ? [] : [[`to mend ${name}`, fix] as const]));
      const parts = [`server ${report.version}`, table(['', 'CHECK', 'DETAIL'], rows)];
      return [...parts, ...(fixes.length === 0 ? [] : [pairs(fixes)])].join('\n\n');
    });
    if (!report.ok) context.exitWith(errorKinds.unavailable.exitCode);
  });
}
