import type { Caisson } from '@caisson/sdk';
import type { Command } from 'commander';
import type { ConnectionNeeds, ServerChoice } from './connect.ts';
import type { Invocation } from './invocation.ts';
import type { Screen } from './output/screen.ts';

/** What every command gets: where it writes, and the server when it asks for it. */
export interface CommandContext {
  readonly invocation: Invocation;
  readonly screen: Screen;
  /** Connects to the chosen server; a local one is started when none runs. */
  connect(options: ServerChoice, needs?: ConnectionNeeds): Promise<Caisson>;
  /** Ends the run with this code although nothing failed. */
  exitWith(exitCode: number): void;
}

export function withJson(command: Command): Command {
  return command.option('--json', 'one JSON document instead of text; errors as a problem document');
}

/** The options of every command that talks to a server. */
export function withServer(command: Command): Command {
  return withJson(command)
    .option('--url <address>', 'a server elsewhere (or CAISSON_URL)')
    .option('--api-key <key>', 'its API key (better: CAISSON_API_KEY)')
    .option('--data <folder>', 'data folder of the local server (or CAISSON_DATA_FOLDER)');
}
