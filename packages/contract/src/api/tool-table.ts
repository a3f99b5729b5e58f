import { z } from 'zod';
import { lineSchema } from '../names.ts';
import { editSchema } from './file-routes.ts';
import { argumentSchema, envSchema, maxPathBytes } from './process-shape.ts';

/**
 * The tools of agents, as data: what each is called, what it takes, and what it may do. Schemas, the list of tools, the
 * checks of the server and the help of the CLI come from here.
 *
 * Laws
 * - Tier 1 looks at files and changes them through the guest, and spawns nothing but `git` to read a repository.
 *   Tier 2 runs programs.
 * - `changesFiles` says whether files may be others afterwards; only then there is a snapshot after the tool.
 * - A path that does not begin with a slash begins at the workspace, and paths in answers can be given as they are.
 * - What a tool is given never becomes an option of a program.
 */
export interface ToolDefinition {
  readonly tier: 1 | 2;
  readonly summary: string;
  readonly changesFiles: boolean;
  /** Whether it runs a program, whose resources can be limited. */
  readonly spawns: boolean;
  readonly params: z.ZodObject;
}

function tool<const D extends ToolDefinition>(definition: D): D {
  return definition;
}

const native = { tier: 1, spawns: false } as const;
const gitRead = { tier: 1, spawns: true, changesFiles: false } as const;
const program = { tier: 2, spawns: true, changesFiles: true } as const;

// A word for an operating system ends at the first NUL.
const pathSchema = z
  .string()
  .min(1)
  .max(maxPathBytes)
  .regex(/^[^\0]*$/, 'must not contain NUL')
  .describe('one that does not begin with a slash begins at the workspace');

/** Words that stand where git also takes options. */
const notAnOption = (schema: z.ZodString) => schema.regex(/^(?!-)/, 'must not begin with `-`');
const refSchema = notAnOption(z.string().min(1).max(1024)).regex(
  /^[^\s\0]*$/,
  'must be a branch, a tag, a commit or a range of them',
);
const remoteSchema = notAnOption(lineSchema(4096).min(1))
  // Such an address names a program that git would run.
  .regex(/^(?![A-Za-z0-9+.-]*::)/, 'must be a name or a URL');

const repository = pathSchema.optional().describe('a folder in the repository; the workspace when absent');
const pathsSchema = z.array(pathSchema).max(1_000).describe('paths as they are, no patterns; within the repository');
const patternSchema = z.string().min(1).max(1024);
const ignoring = {
  ignoreFiles: z.boolean().default(true).describe('obey .gitignore and .ignore'),
  hidden: z.boolean().default(false),
};
const limitSchema = z.int().min(1).max(10_000);

export const tools = {
  read_file: tool({
    ...native,
    summary: 'The content of a file, or some lines of it; what is not text comes as bytes',
    changesFiles: false,
    params: z.strictObject({
      path: pathSchema,
      firstLine: z.int().min(1).max(1_000_000_000).default(1),
      lines: z.int().min(1).max(1_000_000).optional().describe('how many; all when absent'),
    }),
  }),
  write_file: tool({
    ...native,
    summary: 'Write a whole file: it is replaced, or nothing happens; missing folders are made',
    changesFiles: true,
    params: z.strictObject({
      path: pathSchema,
      content: z.string(),
      encoding: z.enum(['utf8', 'base64']).default('utf8'),
      mode: z.int().min(0).max(0o7777).optional().describe('permission bits'),
    }),
  }),
  edit_file: tool({
    ...native,
    summary: 'Replace exact pieces of text in a file: all of them, or none',
    changesFiles: true,
    params: z.strictObject({ path: pathSchema, edits: z.array(editSchema).min(1).max(1_000) }),
  }),
  grep: tool({
    ...native,
    summary: 'Lines that match an expression, as path:line:text',
    changesFiles: false,
    params: z.strictObject({
      pattern: z.string().min(1).max(4096),
      path: pathSchema.optional().describe('a file or folder; the workspace when absent'),
      syntax: z.enum(['literal', 'extended']).default('extended'),
      ignoreCase: z.boolean().default(false),
      include: z.array(patternSchema).max(256).default([]),
      exclude: z.array(patternSchema).max(256).default([]),
      contextLines: z.int().min(0).max(16).default(0),
      limit: limitSchema.default(200).describe('most matches'),
      ...ignoring,
    }),
  }),
  glob: tool({
    ...native,
    summary: 'Paths that match a pattern; `**` crosses folders',
    changesFiles: false,
    params: z.strictObject({
      pattern: patternSchema,
      path: pathSchema.optional().describe('a folder; the workspace when absent'),
      limit: limitSchema.default(1_000),
      ...ignoring,
    }),
  }),
  git_status: tool({
    ...gitRead,
    summary: 'Branch and changed files, in the short form',
    params: z.strictObject({ path: repository }),
  }),
  git_diff: tool({
    ...gitRead,
    summary: 'Differences: of the work tree, of what is staged, or between two commits',
    params: z.strictObject({
      path: repository,
      staged: z.boolean().default(false),
      from: refSchema.optional(),
      to: refSchema.optional().describe('needs `from`'),
      paths: pathsSchema.optional(),
      stat: z.boolean().default(false).describe('only how much changed'),
      contextLines: z.int().min(0).max(1_000).default(3),
    }),
  }),
  git_log: tool({
    ...gitRead,
    summary: 'Commits, newest first',
    params: z.strictObject({
      path: repository,
      ref: refSchema.default('HEAD'),
      limit: limitSchema.default(20),
      paths: pathsSchema.optional(),
    }),
  }),
  git_show: tool({
    ...gitRead,
    summary: 'A commit with its changes, or a file as it was in one',
    params: z.strictObject({
      path: repository,
      ref: refSchema.default('HEAD'),
      file: pathSchema.optional().describe('relative to the top of the repository'),
    }),
  }),
  bash: tool({
    ...program,
    summary: 'Run text by bash',
    params: z.strictObject({
      command: argumentSchema.min(1),
      cwd: pathSchema.optional().describe('the workspace when absent'),
      env: envSchema.optional(),
      stdin: z.string().optional(),
    }),
  }),
  git_add: tool({
    ...program,
    summary: 'Stage files',
    params: z.strictObject({ path: repository, paths: pathsSchema.optional().describe('all changes when absent') }),
  }),
  git_commit: tool({
    ...program,
    summary: 'Commit what is staged',
    params: z.strictObject({
      path: repository,
      message: argumentSchema.min(1),
      all: z.boolean().default(false).describe('stage changes of known files first'),
      amend: z.boolean().default(false),
      author: z
        .strictObject({ name: lineSchema(200).min(1), email: lineSchema(320).min(1) })
        .optional()
        .describe('author and committer; what git is configured with when absent'),
    }),
  }),
  git_push: tool({
    ...program,
    summary: 'Send commits to a remote',
    params: z.strictObject({
      path: repository,
      remote: remoteSchema.default('origin'),
      ref: refSchema.optional().describe('what to push, also as `local:remote`; the current branch when absent'),
      setUpstream: z.boolean().default(false),
      force: z.boolean().default(false).describe('only over what was last seen there'),
    }),
  }),
  git_clone: tool({
    ...program,
    summary: 'Copy a repository into a new folder',
    params: z.strictObject({
      url: remoteSchema,
      path: pathSchema.describe('the folder to make'),
      branch: refSchema.optional(),
      depth: z.int().min(1).max(1_000_000).optional(),
    }),
  }),
  git_fetch: tool({
    ...program,
    summary: 'Take commits from a remote, and change no branch of ours',
    params: z.strictObject({
      path: repository,
      remote: remoteSchema.default('origin'),
      refs: z.array(refSchema).max(100).default([]),
      prune: z.boolean().default(false),
    }),
  }),
  git_pull: tool({
    ...program,
    summary: 'Take commits from a remote into the current branch',
    params: z.strictObject({
      path: repository,
      remote: remoteSchema.optional(),
      branch: refSchema.optional().describe('needs `remote`'),
      how: z.enum(['merge', 'rebase', 'fast-forward']).default('fast-forward'),
    }),
  }),
} as const satisfies Record<string, ToolDefinition>;

export type ToolName = keyof typeof tools;
/** What a caller gives. */
export type ToolInput<N extends ToolName> = z.input<(typeof tools)[N]['params']>;
/** What the tool gets. */
export type ToolParams<N extends ToolName> = z.output<(typeof tools)[N]['params']>;
export const toolNames = Object.keys(tools) as ToolName[];

export function isToolName(value: string): value is ToolName {
  return Object.hasOwn(tools, value);
}
