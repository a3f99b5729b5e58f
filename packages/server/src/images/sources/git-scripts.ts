/**
 * What git is told inside a sandbox. It reaches nobody: the pack comes on its standard input, and every transport is
 * closed to it. What differs is given as arguments, so no text of a spec or of a stranger is ever read as a script.
 *
 * Law: nothing that a repository brings is run. There are no hooks and no templates, and settings come from here alone.
 */
export const gitEnvironment: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_CONFIG_COUNT: '4',
  GIT_CONFIG_KEY_0: 'core.hooksPath',
  GIT_CONFIG_VALUE_0: '/dev/null',
  GIT_CONFIG_KEY_1: 'core.fsmonitor',
  GIT_CONFIG_VALUE_1: 'false',
  GIT_CONFIG_KEY_2: 'core.protectNTFS',
  GIT_CONFIG_VALUE_2: 'true',
  // Newer versions write one unasked; the files of a commit are the same whichever git unpacked it.
  GIT_CONFIG_KEY_3: 'pack.writeReverseIndex',
  GIT_CONFIG_VALUE_3: 'false',
  LC_ALL: 'C',
};

/** Arguments: the folder, the form of names. The pack is on the standard input. */
export const takePack = [
  'set -eu',
  'format=$2',
  'if [ "$format" = sha1 ]; then git init -q --template= -- "$1"; else git init -q --template= --object-format="$format" -- "$1"; fi',
  'cd -- "$1"',
  'exec git index-pack --stdin >/dev/null',
].join('\n');

/** Arguments: the folder, the commit, its branch or nothing, the address. On the standard input: where the past ends. */
export const checkOut = [
  'set -eu',
  'cd -- "$1"',
  'cat > .git/shallow',
  '[ -s .git/shallow ] || rm -f .git/shallow',
  'git cat-file -e "$2^{commit}" 2>/dev/null || { echo "caisson: no such commit" >&2; exit 3; }',
  'git config remote.origin.url "$4"',
  "git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'",
  'if [ -n "$3" ]; then',
  '  git update-ref "refs/remotes/origin/$3" "$2"',
  '  git update-ref "refs/heads/$3" "$2"',
  '  git symbolic-ref HEAD "refs/heads/$3"',
  '  git config "branch.$3.remote" origin',
  '  git config "branch.$3.merge" "refs/heads/$3"',
  'else',
  '  git update-ref --no-deref HEAD "$2"',
  'fi',
  'git reset -q --hard',
].join('\n');

export const noSuchCommitCode = 3;

/**
 * Argument: the folder. Takes out of a checked out repository when and by whom that was done: then it is the same files
 * each time. Of the index the times and places of files go, which are others in an image anyway.
 */
export const forgetWhen = [
  'set -eu',
  'cd -- "$1"',
  `forget='git read-tree HEAD && cd "$(git rev-parse --absolute-git-dir)" && rm -rf logs ORIG_HEAD'`,
  'git submodule --quiet foreach --recursive "$forget"',
  'eval "$forget"',
].join('\n');

/** Argument: the folder. Writes what `.gitmodules` says, as `git config -z` does. */
export const readModules = [
  'set -eu',
  'cd -- "$1"',
  '[ -f .gitmodules ] && [ ! -L .gitmodules ] || exit 0',
  "git config -z -f .gitmodules --get-regexp '^submodule\\..*\\.(path|url)$' || true",
].join('\n');

/** Arguments: the folder, then paths. Writes which of them are submodules, and at which commits. */
export const readLinks = ['set -eu', 'cd -- "$1"', 'shift', 'exec git ls-files -s -z -- "$@"'].join('\n');

/** Arguments: the folder, then paths. The repositories of submodules move to where git looks for them. */
export const absorbModules = ['set -eu', 'cd -- "$1"', 'exec git submodule absorbgitdirs'].join('\n');
