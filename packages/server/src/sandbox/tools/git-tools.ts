import type { ToolName } from '@caisson/contract';
import { runProgram } from './run-program.ts';
import { inWorkspace, type ToolContext, type ToolResult, type ToolWorks } from './tool.ts';

/** Nobody is there to answer a question or to read a page, and paths are paths. */
const environment = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
  LC_ALL: 'C.UTF-8',
};

/** Reading takes no lock and writes no index: it may happen while somebody else works in the repository. */
const reading = { GIT_OPTIONAL_LOCKS: '0' };

/** Programs that a repository's settings would have git run are not what was asked for. */
const plain = ['--no-ext-diff', '--no-textconv', '--no-color'];

type GitTool = Extract<ToolName, `git_${string}`>;

export const gitTools: ToolWorks<GitTool> = {
  git_status: ({ path }, context) => git(context, path, ['status', '--short', '--branch'], reading),

  git_diff: ({ path, staged, from, to, paths, stat, contextLines }, context) =>
    git(
      context,
      path,
      [
        'diff',
        ...plain,
        ...(stat ? ['--stat'] : [`--unified=${contextLines}`]),
        ...(staged ? ['--cached'] : []),
        ...given(from),
        ...given(to),
        '--',
        ...(paths ?? []),
      ],
      reading,
    ),

  git_log: ({ path, ref, limit, paths }, context) =>
    git(context, path, ['log', '--no-color', `--max-count=${limit}`, ref, '--', ...(paths ?? [])], reading),

  git_show: ({ path, ref, file }, context) =>
    git(context, path, ['show', ...plain, file === undefined ? ref : `${ref}:${file}`, '--'], reading),

  git_add: ({ path, paths }, context) => git(context, path, ['add', '--all', '--', ...(paths ?? ['.'])]),

  git_commit: ({ path, message, all, amend, author }, context) =>
    git(
      context,
      path,
      ['commit', `--message=${message}`, ...(all ? ['--all'] : []), ...(amend ? ['--amend'] : [])],
      author && {
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_COMMITTER_NAME: author.name,
        GIT_COMMITTER_EMAIL: author.email,
      },
    ),

  git_push: ({ path, remote, ref, setUpstream, force }, context) =>
    git(context, path, [
      'push',
      ...(setUpstream ? ['--set-upstream'] : []),
      ...(force ? ['--force-with-lease'] : []),
      '--',
      remote,
      ref ?? 'HEAD',
    ]),

  git_clone: ({ url, path, branch, depth }, context) =>
    git(context, undefined, [
      'clone',
      ...(branch === undefined ? [] : [`--branch=${branch}`]),
      ...(depth === undefined ? [] : [`--depth=${depth}`]),
      '--',
      url,
      inWorkspace(context, path),
    ]),

  git_fetch: ({ path, remote, refs, prune }, context) =>
    git(context, path, ['fetch', ...(prune ? ['--prune'] : []), '--', remote, ...refs]),

  git_pull: ({ path, remote, branch, how }, context) =>
    git(context, path, [
      'pull',
      { merge: '--no-rebase', rebase: '--rebase', 'fast-forward': '--ff-only' }[how],
      '--',
      ...given(remote),
      ...given(branch),
    ]),
};

function git(
  context: ToolContext,
  path: string | undefined,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ToolResult> {
  return runProgram(
    {
      argv: ['git', '-c', 'core.fsmonitor=false', '--no-pager', ...args],
      cwd: path === undefined ? undefined : inWorkspace(context, path),
      env: { ...environment, ...env },
    },
    context,
  );
}

function given(word: string | undefined): string[] {
  return word === undefined ? [] : [word];
}
