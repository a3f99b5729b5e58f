import { CaissonError } from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import { parseReference } from '../reference.ts';
import { shellQuote } from '../shell/shell-quote.ts';
import { type BuildStep, buildSteps, type RunStep } from './build-steps.ts';
import type { PlanDraft } from './make-plan.ts';
import { sandboxUser } from './sandbox-user.ts';

/** A file of the build context that is made from the plan. */
export interface ContextFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

export interface Containerfile {
  readonly text: string;
  readonly files: readonly ContextFile[];
}

/** The names by which the builder brings the base where it is in no registry. */
export const baseArchive = 'base.tar';
export const baseContext = 'caisson-base';
/** What begins with that archive. */
export const archiveLines: readonly string[] = ['FROM scratch', `ADD ${JSON.stringify([baseArchive, '/'])}`];

/** The parser of BuildKit refuses a line of 64 KiB. A script that comes near is a file of the context. */
const maxLine = 32 * 1024;
/** In a filesystem that goes with the step: where a mount needs a file or a folder to stand on, the image gets none. */
export const mounted = '/dev/.caisson';

/** What a builder adds to what the plan says. */
export interface Surroundings {
  /** How the builder begins with the base that it has. */
  readonly baseLines?: readonly string[] | undefined;
  /** What a command is run by, and the mounts that this needs. */
  readonly runBy?: ((step: RunStep) => RunBy) | undefined;
}

export interface RunBy {
  readonly mounts: readonly string[];
  readonly argv: readonly string[];
}

/**
 * The plan as a Containerfile. What is in a plan came from a spec, so nothing of it is written where it could be read as
 * anything else: scripts are JSON strings or files, values are escaped for the one place where they stand, and no
 * instruction spans lines.
 */
export function renderContainerfile(
  plan: PlanDraft | ResolvedImagePlan,
  labels = plan.labels,
  { baseLines, runBy }: Surroundings = {},
): Containerfile {
  const { inline, rest } = splitEnv(plan.env);
  const files: ContextFile[] = rest.length === 0 ? [] : [{ path: 'env.sh', content: exports(rest), mode: 0o644 }];
  const steps = buildSteps(plan);
  const lines = ['# Made by Caisson from a plan: the same plan gives the same text.', ...(baseLines ?? baseOf(plan))];
  let hasEnv = false;
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'run' && step.withEnv && !hasEnv) {
      lines.push(...envLines(inline));
      hasEnv = true;
    }
    lines.push(`# ${comment(step.title)}`, ...stepLines(step, index, rest.length > 0, files, runBy));
  }
  if (!hasEnv) lines.push(...envLines(inline));
  for (const [key, value] of Object.entries(labels).sort(byKey)) lines.push(`LABEL ${quoted(key)}=${quoted(value)}`);
  return { text: `${lines.join('\n')}\n`, files };
}

function baseOf({ base, os }: PlanDraft | ResolvedImagePlan): readonly string[] {
  // Debian is made by Caisson, and comes as an archive whether or not it is made already.
  if (base?.kind === 'rootfs-archive' || (base === null && os.family === 'debian')) return archiveLines;
  if (base === null) throw new CaissonError('build_failed', 'the base of the plan is not known yet');
  if (base.kind !== 'registry') return [`FROM ${baseContext}`];
  const reference = parseReference(base.reference);
  if (reference.kind !== 'registry') throw new CaissonError('image_invalid', 'the base is not an image of a registry');
  return [`FROM ${reference.host}/${reference.repository}@${base.digest}`];
}

function stepLines(
  step: BuildStep,
  index: number,
  hasEnvFile: boolean,
  files: ContextFile[],
  runBy: Surroundings['runBy'],
): string[] {
  if (step.kind === 'copy')
    return [`COPY --chown=${sandboxUser.uid}:${sandboxUser.gid} ${json([`${step.from}/`, `${word(step.to)}/`])}`];
  const by = runBy?.(step) ?? { mounts: [], argv: [] };
  const mounts = [...by.mounts];
  let script = step.script;
  if (step.withEnv && hasEnvFile) {
    mounts.push(bind('env.sh'));
    script = `. ${mounted}/env.sh\n${script}`;
  }
  let argv = [...by.argv, ...interpreter(step), '-ec', script];
  if (json(argv).length > maxLine) {
    const path = `steps/${String(index).padStart(3, '0')}.sh`;
    files.push({ path, content: `${script}\n`, mode: 0o644 });
    mounts.push(bind(path));
    argv = [...by.argv, ...interpreter(step), '-e', `${mounted}/${path}`];
  }
  const run = ['RUN', ...mounts, json(argv)].join(' ');
  return step.user === 'root' ? [run] : [`USER ${step.user}`, run, 'USER root'];
}

function interpreter({ shell }: RunStep): string[] {
  return shell === 'sh' ? ['/bin/sh'] : ['/usr/bin/env', 'bash'];
}

/** A file or folder of the context where a step sees it, at its own path. */
export function bind(path: string): string {
  return `--mount=type=bind,source=${path},target=${mounted}/${path}`;
}

/** A line can hold neither a line break nor a value without end: such variables are a file that the steps read. */
function splitEnv(env: Readonly<Record<string, string>>) {
  const entries = Object.entries(env).sort(byKey);
  const fits = ([, value]: [string, string]) => isPlain(value) && value.length < 4_096;
  return { inline: entries.filter(fits), rest: entries.filter((entry) => !fits(entry)) };
}

function envLines(entries: readonly [string, string][]): string[] {
  return entries.map(([name, value]) => `ENV ${name}=${quoted(value)}`);
}

function exports(entries: readonly [string, string][]): string {
  return entries.map(([name, value]) => `export ${name}=${shellQuote(value)}\n`).join('');
}

function isPlain(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it looks for.
  return !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text);
}

/** Between double quotes a Containerfile reads `\`, `"` and `$`, and takes them as they are after a backslash. */
function quoted(text: string): string {
  if (!isPlain(text)) throw new CaissonError('spec_invalid', 'a label contains a line break or a control character');
  return `"${text.replace(/[\\"$]/g, '\\$&')}"`;
}

/** A path of COPY is read once more after the JSON, as a word with quotes and variables. */
function word(text: string): string {
  return text.replace(/[\\"'$]/g, '\\$&');
}

/** JSON for one line, whatever somebody takes for the end of one. */
function json(words: readonly string[]): string {
  return JSON.stringify(words).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function comment(text: string): string {
  return text.replace(/[^A-Za-z0-9 .,:_-]/g, '_');
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
