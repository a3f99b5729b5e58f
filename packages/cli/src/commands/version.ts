import type { Command } from 'commander';
import { type CommandContext, withJson } from '../command-context.ts';
import { version } from '../version.ts';

/** The quick way is in index.ts; this one stands in the help and takes every other spelling. */
export function addVersion(parent: Command, { screen }: CommandContext): void {
  withJson(parent.command('version').description('print the version')).action(() => {
    screen.result({ version }, () => `caisson ${version}`);
  });
}
