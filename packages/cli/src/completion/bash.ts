import { type CompletedCommand, everyCommand } from './command-tree.ts';

/**
 * One function: it walks the words up to the cursor to find the command, then offers what is known at that place. Words
 * hold no spaces and no quotes, so lists of words need no escaping.
 */
export function bashCompletion(root: CompletedCommand): string {
  const all = everyCommand(root);
  const walks = all.flatMap(({ path, commands }) =>
    commands.map((child) => `      '${path.join(' ')}/${child.path.at(-1)}') path='${child.path.join(' ')}' ;;`),
  );
  const values = all.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ flags, choices, takesFile }) =>
        flags.map((flag) => {
          const reply = takesFile ? 'compgen -f -- "$cur"' : `compgen -W '${choices.join(' ')}' -- "$cur"`;
          return `    '${path.join(' ')}/${flag}') COMPREPLY=($(${reply})); return ;;`;
        }),
      ),
  );
  const places = all.map(({ path, commands, options, choices }) => {
    const words = [...commands.map((child) => child.path.at(-1)), ...choices].join(' ');
    const flags = options.flatMap((option) => option.flags.filter((flag) => flag.startsWith('--'))).join(' ');
    return `    '${path.join(' ')}') words='${words}' flags='${flags}' ;;`;
  });
  return `# bash completion of caisson: source <(caisson completion bash)
_caisson() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' flags='' index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$path/\${COMP_WORDS[index]}" in
${walks.join('\n')}
    esac
  done
  case "$path/$prev" in
${values.join('\n')}
  esac
  case "$path" in
${places.join('\n')}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -F _caisson caisson`;
}
