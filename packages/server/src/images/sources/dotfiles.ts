import type { WorkspaceBlueprint } from '@caisson/contract';

type Manager = WorkspaceBlueprint['customization']['dotfilesManager'];

/** How dotfiles are put in place; `none`: their own script does all of it. */
export type Way = Exclude<Manager, 'auto'> | 'none';

/** What dotfiles have at their top: a name, and for a folder the names in it. */
export interface TopEntry {
  readonly name: string;
  readonly inner?: readonly string[];
}

/** Scripts that set dotfiles up, in the order in which they are looked for; the first that is there counts. */
export const bootstrapScripts = [
  'install.sh',
  'install',
  'bootstrap.sh',
  'bootstrap',
  'script/bootstrap',
  'setup.sh',
  'setup',
  'script/setup',
];

const chezmoiMarks = /^(?:\.chezmoi.*|dot_.*|private_dot_.*|(?:run|executable|symlink|encrypted|private)_.*\.tmpl)$/;
const stowMarks = ['.stowrc', '.stow-local-ignore', '.stow-global-ignore'];
/** Of the repository, and nobody's settings. */
const notDotfiles = ['.git', '.github', '.gitlab', '.gitmodules', '.gitattributes', '.gitignore', '.editorconfig'];
const documents = /^(?:readme|licen[cs]e|copying|changelog|contributing|makefile)(?:\..*)?$/i;

/** `auto` goes by what is there: marks of a tool, then a script, which knows best, then plain files. */
export function wayOf(manager: Manager, entries: readonly TopEntry[], hasScript: boolean): Way {
  if (manager !== 'auto') return manager;
  if (entries.some(({ name }) => chezmoiMarks.test(name))) return 'chezmoi';
  if (entries.some(({ name }) => stowMarks.includes(name)) || areStowPackages(entries)) return 'stow';
  return hasScript ? 'none' : 'copy';
}

/** Folders that each hold what belongs into a home, and nothing of it at the top. */
function areStowPackages(entries: readonly TopEntry[]): boolean {
  const hasTop = entries.some(({ name }) => name.startsWith('.') && !notDotfiles.includes(name));
  return !hasTop && stowPackages(entries).length > 0;
}

export function stowPackages(entries: readonly TopEntry[]): readonly string[] {
  return entries
    .filter(({ name, inner }) => !name.startsWith('.') && inner?.some((one) => one.startsWith('.')))
    .map(({ name }) => name);
}

/** What `copy` takes: into a home what begins with a dot, into a folder of settings everything but documents. */
export function copied(entries: readonly TopEntry[], target: 'home' | 'config'): readonly string[] {
  const names = entries.map(({ name }) => name).filter((name) => !notDotfiles.includes(name));
  if (target === 'home') return names.filter((name) => name.startsWith('.'));
  return names.filter((name) => !documents.test(name) && !bootstrapScripts.includes(name));
}

/** Each ends at the first command that fails. Arguments: the dotfiles, the target, then names. */
export const wayScripts: Readonly<Record<Exclude<Way, 'none'>, string>> = {
  chezmoi: 'set -eu\nmkdir -p -- "$2"\nexec chezmoi apply --source "$1" --destination "$2" --force --no-tty',
  stow: 'set -eu\nfrom=$1 to=$2\nshift 2\nmkdir -p -- "$to"\nexec stow --dir="$from" --target="$to" --restow -- "$@"',
  copy: 'set -eu\nfrom=$1 to=$2\nshift 2\nmkdir -p -- "$to"\nfor name do cp -RP -- "$from/$name" "$to/"; done',
};
