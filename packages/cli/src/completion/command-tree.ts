import type { Command } from 'commander';

export interface CompletedOption {
  /** As they are typed: `-n`, `--name`. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  readonly takesFile: boolean;
  readonly choices: readonly string[];
}

/** What can be typed at one place of the tree of commands. */
export interface CompletedCommand {
  /** The words that lead here, without the program's own name. */
  readonly path: readonly string[];
  readonly description: string;
  readonly commands: readonly CompletedCommand[];
  readonly options: readonly CompletedOption[];
  /** Values of its first argument, where they are known. */
  readonly choices: readonly string[];
}

/** The tree of commands as the renderers of the shells need it. */
export function commandTree(command: Command, path: readonly string[] = []): CompletedCommand {
  return {
    path,
    description: command.description(),
    commands: command.commands.map((child) => commandTree(child, [...path, child.name()])),
    options: [
      ...command.options
        .filter((option) => !option.hidden)
        .map((option) => ({
          flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
          description: option.description,
          takesValue: option.required || option.optional,
          takesFile: /<(file|folder)>/.test(option.flags),
          choices: option.argChoices ?? [],
        })),
      { flags: ['-h', '--help'], description: 'show help', takesValue: false, takesFile: false, choices: [] },
    ],
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
}

/** The command itself and everything below it. */
export function everyCommand(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
