import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';

export interface ListFilesOptions extends ServerChoice {
  readonly long?: boolean;
  readonly recursive?: boolean;
  readonly user?: string;
}

export interface FileOptions extends ServerChoice {
  readonly user?: string;
}

export interface WriteFileOptions extends FileOptions {
  readonly mode?: number;
  readonly parents?: boolean;
}

/** Where work is done, and where commands begin. */
const workspace = '/workspace';
const whose = 'with whose permission; the sandbox’s own user when absent';

export function addFiles(parent: Command, context: CommandContext): void {
  withServer(parent.command('ls').description('files of a folder in a sandbox'))
    .argument('<sandbox>', 'id or name')
    .argument('[path]', 'a path without / begins at the home of the user', workspace)
    .option('-l, --long', 'mode, owner, size and time too')
    .option('-R, --recursive', 'what is in its folders too')
    .option('-u, --user <name>', whose)
    .action(async (ref: string, path: string, options: ListFilesOptions) => {
      const { listFiles } = await import('../files/list-files.ts');
      await listFiles(ref, path, options, context);
    });

  withServer(parent.command('cat').description('the content of files in a sandbox'))
    .argument('<sandbox>', 'id or name')
    .argument('<path...>', 'a path without / begins at the home of the user')
    .option('-u, --user <name>', whose)
    .action(async (ref: string, paths: string[], options: FileOptions) => {
      const { showFiles } = await import('../files/show-files.ts');
      await showFiles(ref, paths, options, context);
    });

  withServer(parent.command('write').description('write stdin to a file in a sandbox: all of it, or nothing'))
    .argument('<sandbox>', 'id or name')
    .argument('<path>', 'a path without / begins at the home of the user')
    .option('-m, --mode <mode>', 'permission bits, such as 755', parseMode)
    .option('-p, --parents', 'make missing folders')
    .option('-u, --user <name>', whose)
    .action(async (ref: string, path: string, options: WriteFileOptions) => {
      const { writeFile } = await import('../files/write-file.ts');
      await writeFile(ref, path, options, context);
    });

  withServer(parent.command('edit').description('edit a file in a sandbox with $VISUAL or $EDITOR'))
    .argument('<sandbox>', 'id or name')
    .argument('<path>', 'a path without / begins at the home of the user')
    .option('-u, --user <name>', whose)
    .action(async (ref: string, path: string, options: FileOptions) => {
      const { editFile } = await import('../files/edit-file.ts');
      await editFile(ref, path, options, context);
    });
}

function parseMode(text: string): number {
  if (!/^[0-7]{3,4}$/.test(text)) throw new InvalidArgumentError('Write it as an octal number such as 644.');
  return Number.parseInt(text, 8);
}
