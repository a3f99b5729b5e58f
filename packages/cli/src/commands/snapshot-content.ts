import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { collectKeyValue, parseCount } from '../input/key-value.ts';

export interface DiffCommandOptions extends ServerChoice {
  readonly path?: string;
  readonly file?: string;
  readonly limit: number;
}

export interface ExportCommandOptions extends ServerChoice {
  readonly output?: string;
  readonly thin?: boolean;
}

export interface ImportCommandOptions extends ServerChoice {
  readonly name?: string;
  readonly label?: Record<string, string>;
  readonly project?: string;
}

const what = 'its id, or <sandbox>:<name>';

/** Looking into snapshots, and carrying them elsewhere: a part of `snapshots`. */
export function addSnapshotContent(group: Command, context: CommandContext): void {
  withServer(group.command('diff').description('what differs between a snapshot and another, or now'))
    .argument('<snapshot>', what)
    .argument('[to]', `another: ${what}; or now, the files of its sandbox as they are`, 'now')
    .option('-p, --path <path>', 'only this, and what is in it')
    .option('-f, --file <path>', 'one file, line by line')
    .option('--limit <count>', 'at most so many paths', parseCount, 10_000)
    .action(async (from: string, to: string, options: DiffCommandOptions) => {
      const { diffSnapshots } = await import('../snapshot-content/diff.ts');
      await diffSnapshots(from, to, options, context);
    });

  withServer(group.command('export').description('a snapshot as one file: an OCI image layout, with digests'))
    .argument('<snapshot>', what)
    .option('-o, --output <file>', 'where to; - is the standard output, a name that ends with .gz is compressed')
    .option('--thin', 'without the layers of its image, which the other server must have')
    .action(async (ref: string, options: ExportCommandOptions) => {
      const { exportSnapshot } = await import('../snapshot-content/export.ts');
      await exportSnapshot(ref, options, context);
    });

  withServer(group.command('import').description('a snapshot from a file that export made, here or elsewhere'))
    .argument('<file>', '- is the standard input')
    .option('-n, --name <name>', 'a name in place of its own')
    .option('-l, --label <key=value>', 'label; may be repeated; in place of its own', collectKeyValue)
    .option('--project <name>', 'a project of yours')
    .action(async (file: string, options: ImportCommandOptions) => {
      const { importSnapshot } = await import('../snapshot-content/import.ts');
      await importSnapshot(file, options, context);
    });
}
