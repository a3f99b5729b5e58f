import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { withProgress } from '../output/progress.ts';

export function addPs(parent: Command, context: CommandContext): void {
  const { screen } = context;
  withServer(parent.command('ps').description('processes of a sandbox that run, or whose end is remembered'))
    .argument('<sandbox>', 'id or name')
    .option('--tag <text>', 'only with this tag')
    .option('--running', 'only those that run')
    .action(async (ref: string, options: ServerChoice & { tag?: string; running?: boolean }) => {
      const { findSandbox } = await import('../find-sandbox.ts');
      const { processTable } = await import('../output/process-text.ts');
      const found = await withProgress(screen, `asking ${ref}`, async () => {
        const sandbox = await findSandbox(await context.connect(options), ref);
        return sandbox.processes.list(options.tag === undefined ? {} : { tag: options.tag });
      });
      const items = found.map(({ record }) => record).filter(({ running }) => running || options.running !== true);
      screen.result({ items }, () => (items.length === 0 ? 'no processes' : processTable(screen, items)));
    });
}

export function addKill(parent: Command, context: CommandContext): void {
  const { screen } = context;
  withServer(parent.command('kill').description('send a signal to processes of a sandbox'))
    .argument('<sandbox>', 'id or name')
    .argument('<process...>', 'id, pid or tag')
    .option('-s, --signal <signal>', 'name or number', 'SIGTERM')
    .action(async (ref: string, wanted: string[], options: ServerChoice & { signal: string }) => {
      const { findSandbox } = await import('../find-sandbox.ts');
      const { findProcess } = await import('../find-process.ts');
      const { parseSignal } = await import('../input/signal.ts');
      const signal = parseSignal(options.signal);
      const done = await withProgress(screen, `signalling in ${ref}`, async () => {
        const sandbox = await findSandbox(await context.connect(options), ref);
        const processes = [];
        // All are known before the first is signalled.
        for (const one of wanted) processes.push(await findProcess(sandbox, one));
        for (const process of processes) await process.signal(signal);
        return processes;
      });
      screen.result({ items: done }, () => done.map(({ id }) => id).join('\n'));
    });
}
