import { CaissonError, hasCode, type WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { inputsRoot } from '../../images/plan/build-steps.ts';
import {
  bootstrapScripts,
  copied,
  stowPackages,
  type TopEntry,
  type Way,
  wayOf,
  wayScripts,
} from '../../images/sources/dotfiles.ts';
import { remoteWords } from '../../images/sources/remote-words.ts';
import { runInside } from './run-inside.ts';
import { type NamedSource, namedInputs, naming, type Source } from './source-name.ts';

type Input = Extract<Source, { purpose: string }>;

export interface ApplyOptions {
  readonly guest: GuestClient;
  readonly blueprint: WorkspaceBlueprint;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

const user = 'user';
/** As many as somebody keeps, and few enough to look at. */
const maxEntries = 5_000;

/** Applies dotfiles and runs what sets a sandbox up, as its user. Answers what a person should know of it. */
export async function applyInputs(options: ApplyOptions): Promise<readonly string[]> {
  const { blueprint } = options;
  const { applyDotfiles, dotfilesBootstrap, bootstrapCommand } = blueprint.customization;
  const inputs = namedInputs(blueprint);
  const dotfiles = inputs.filter(({ source }) => source.purpose === 'dotfiles' && applyDotfiles);
  const setups = inputs.filter(({ source }) => source.purpose === 'bootstrap');
  const notices: string[] = [];
  for (const named of dotfiles) await naming(named, () => applyOne(options, named, notices));
  const scripted = [...(dotfilesBootstrap ? dotfiles : []), ...setups];
  const [own] = [...setups, ...dotfiles];
  if (bootstrapCommand !== undefined) {
    const home = own === undefined ? await homeOf(options) : placeOf(own.source);
    options.progress('running the bootstrap command');
    await run(options, 'the bootstrap command', { text: bootstrapCommand, args: [] }, home);
    return notices;
  }
  for (const named of scripted) await naming(named, () => runScript(options, named));
  return notices;
}

async function applyOne(options: ApplyOptions, { source, name }: NamedSource<Input>, notices: string[]): Promise<void> {
  const { blueprint, progress } = options;
  const { dotfilesManager, dotfilesTarget, dotfilesBootstrap } = blueprint.customization;
  const from = placeOf(source);
  const entries = await topEntries(options, from);
  const hasScript = dotfilesBootstrap && (await findScript(options, from)) !== undefined;
  const way = wayOf(dotfilesManager, entries, hasScript);
  if (way === 'none') return;
  const names = way === 'stow' ? stowPackages(entries) : way === 'copy' ? copied(entries, dotfilesTarget) : [];
  if (way !== 'chezmoi' && names.length === 0) {
    notices.push(`Nothing of ${name} was applied: ${way} finds nothing in it.`);
    return;
  }
  const home = await homeOf(options);
  const to = dotfilesTarget === 'home' ? home : `${home}/.config`;
  progress(`applying ${name} with ${way}`);
  await run(options, way, { text: wayScripts[way], args: [from, to, ...names] }, home, way);
}

async function runScript(options: ApplyOptions, { source, name }: NamedSource<Input>): Promise<void> {
  const folder = placeOf(source);
  const script = await findScript(options, folder);
  if (script === undefined) return;
  options.progress(`running ${script} of ${name}`);
  const text = 'if [ -x "$1" ]; then exec "$1"; else exec /bin/sh "$1"; fi';
  await run(options, script, { text, args: [`./${script}`] }, folder);
}

async function run(
  { guest, signal }: ApplyOptions,
  what: string,
  script: { readonly text: string; readonly args: readonly string[] },
  cwd: string,
  way?: Way,
): Promise<void> {
  const ran = await runInside(guest, { ...script, user, cwd }, signal);
  if (ran.code === 0) return;
  const words = remoteWords(`${ran.stdout.toString('utf8').slice(-2_000)}\n${ran.stderr}`.trim().slice(-300));
  const isMissing = way !== undefined && way !== 'copy' && ran.code === 127;
  throw new CaissonError('source_failed', `${what} ended with ${ran.code}: ${words || 'it said nothing'}`, {
    ...(isMissing
      ? {
          hint: `Add \`${way}\` to \`packages\` of the spec, install it in \`setup\`, or choose another \`dotfilesManager\`.`,
        }
      : {}),
  });
}

async function homeOf({ guest, signal }: ApplyOptions): Promise<string> {
  const { stdout } = await runInside(guest, { text: 'printf %s "$HOME"', args: [], user }, signal);
  const home = stdout.toString('utf8');
  return home.startsWith('/') ? home : '/home/user';
}

async function topEntries({ guest, signal }: ApplyOptions, folder: string): Promise<readonly TopEntry[]> {
  const { entries } = await guest.files.list(folder, { user, depth: 2, maxEntries, signal });
  const tops = new Map<string, string[] | undefined>();
  for (const { path, kind } of entries) {
    const [top = '', inner] = path.split('/');
    if (inner === undefined) tops.set(top, kind === 'directory' ? (tops.get(top) ?? []) : undefined);
    else tops.get(top)?.push(inner);
  }
  return [...tops].map(([name, inner]) => (inner === undefined ? { name } : { name, inner })).sort(byName);
}

const byName = (a: TopEntry, b: TopEntry) => (a.name < b.name ? -1 : 1);

async function findScript({ guest, signal }: ApplyOptions, folder: string): Promise<string | undefined> {
  for (const script of bootstrapScripts) {
    try {
      const { kind } = await guest.files.stat(`${folder}/${script}`, { user, signal });
      if (kind === 'file') return script;
    } catch (error) {
      if (!hasCode(error, 'file_not_found', 'file_not_directory')) throw error;
    }
  }
  return undefined;
}

function placeOf({ id, mountPath }: Input): string {
  return mountPath ?? `${inputsRoot}/${id}`;
}
