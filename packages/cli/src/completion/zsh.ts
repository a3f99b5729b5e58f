import { type CompletedCommand, type CompletedOption, everyCommand } from './command-tree.ts';

/** One function for each command, by the conventions of zsh's own completions (`_arguments`, `_describe`). */
export function zshCompletion(root: CompletedCommand): string {
  const functions = everyCommand(root).map((command) => {
    const specs = command.options.flatMap(optionSpecs).map((spec) => `    ${spec} \\`);
    if (command.commands.length === 0) {
      const rest = command.choices.length > 0 ? `'1:value:(${command.choices.join(' ')})'` : `'*::argument:_files'`;
      return `${functionName(command.path)}() {\n  _arguments -s \\\n${specs.join('\n')}\n    ${rest}\n}`;
    }
    const entries = command.commands.map(
      (child) => `    ${quote(`${child.path.at(-1)}:${colons(child.description)}`)}`,
    );
    const cases = command.commands.map((child) => `    ${child.path.at(-1)}) ${functionName(child.path)} ;;`);
    return `${functionName(command.path)}() {
  local context state state_descr line
  local -A opt_args
  local -a commands=(
${entries.join('\n')}
  )
  _arguments -C \\
${specs.join('\n')}
    '1: :->command' '*:: :->rest'
  case $state in
  command) _describe command commands ;;
  rest)
    case $words[1] in
${cases.join('\n')}
    esac ;;
  esac
}`;
  });
  return `#compdef caisson\n# zsh completion of caisson: source <(caisson completion zsh)\n${functions.join('\n')}\ncompdef _caisson caisson`;
}

function functionName(path: readonly string[]): string {
  return ['_caisson', ...path.map((word) => word.replaceAll('-', '_'))].join('_');
}

function optionSpecs({ flags, description, takesValue, takesFile, choices }: CompletedOption): string[] {
  const text = description.replace(/[[\]\\]/g, (char) => `\\${char}`);
  const value = choices.length > 0 ? `:value:(${choices.join(' ')})` : takesFile ? ':file:_files' : ':value: ';
  return flags.map((flag) => quote(`*${flag}[${colons(text)}]${takesValue ? value : ''}`));
}

function colons(text: string): string {
  return text.replaceAll(':', '\\:');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
