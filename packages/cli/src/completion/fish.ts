import { type CompletedCommand, everyCommand } from './command-tree.ts';

/** One line for each word that can be typed, with the condition under which it fits. */
export function fishCompletion(root: CompletedCommand): string {
  const groups = root.commands.filter(({ commands }) => commands.length > 0).flatMap(({ path }) => path);
  const lines = everyCommand(root).flatMap((command) => {
    const here = `complete -c caisson -n ${quote(condition(command, groups))}`;
    const commands = command.commands.map(
      (child) => `${here} -f -a ${quote(child.path.at(-1) ?? '')} -d ${quote(child.description)}`,
    );
    const choices = command.choices.map((choice) => `${here} -f -a ${quote(choice)}`);
    const options = command.options.map(({ flags, description, takesValue, takesFile, choices: values }) => {
      const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
      const value = !takesValue
        ? ''
        : takesFile
          ? ' -r -F'
          : ` -x${values.length > 0 ? ` -a ${quote(values.join(' '))}` : ''}`;
      return `${here} ${names.join(' ')}${value} -d ${quote(description)}`;
    });
    return [...commands, ...choices, ...options];
  });
  return `# fish completion of caisson: caisson completion fish | source\n${lines.join('\n')}`;
}

/** fish only knows which words were seen, so `create` alone must not be taken for the one of `keys create`. */
function condition({ path, commands }: CompletedCommand, groups: readonly string[]): string {
  if (path.length === 0) return '__fish_use_subcommand';
  const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
  const next = commands.flatMap((child) => child.path.at(-1) ?? []);
  const unseen = path.length === 1 && commands.length === 0 ? groups : next;
  return [...seen, ...(unseen.length === 0 ? [] : [`not __fish_seen_subcommand_from ${unseen.join(' ')}`])].join(
    '; and ',
  );
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, (char) => `\\${char}`)}'`;
}
