import type { Attempt, Build, BuildLogItem } from '@caisson/contract';
import { printable } from './printable.ts';
import type { Screen, Tone } from './screen.ts';
import { table } from './table.ts';
import { relativeTime } from './time.ts';

const tones: Readonly<Record<string, Tone>> = {
  queued: 'faint',
  running: 'busy',
  succeeded: 'good',
  done: 'good',
  cached: 'good',
  failed: 'bad',
  cancelled: 'faint',
  stopped: 'faint',
};

export function buildTable(screen: Screen, builds: readonly Build[]): string {
  const rows = builds.map((build) => [
    build.id,
    screen.paint(build.state, tones[build.state]),
    took(build),
    String(build.steps.length),
    build.image === null ? '-' : build.image.slice(0, 19),
    relativeTime(build.createdAt),
  ]);
  return table(['BUILD', 'STATE', 'TOOK', 'STEPS', 'IMAGE', 'CREATED'], rows);
}

/** What it is, its steps with their times, and of a failure the command and its last words. */
export function buildText(screen: Screen, build: Build): string {
  const head: [string, string][] = [
    ['build', build.id],
    ['state', screen.paint(build.state, tones[build.state])],
    ['plan', build.planDigest],
    ['builder', build.builder ?? '-'],
    ['image', build.image ?? '-'],
    ['tries', String(build.tries)],
    ['took', took(build)],
  ];
  const steps = build.steps.map(({ id, title, state, ms }) => [
    id,
    screen.paint(state, tones[state]),
    ms === null ? '-' : seconds(ms),
    title,
  ]);
  const parts = [head.map(([name, value]) => `${name.padEnd(8)} ${printable(value)}`).join('\n')];
  if (steps.length > 0) parts.push(table(['STEP', 'STATE', 'TOOK', 'WHAT'], steps));
  if (build.error) parts.push(errorText(build.error));
  return parts.join('\n\n');
}

function errorText({ message, step, command, exitCode, lastLines }: NonNullable<Build['error']>): string {
  const lines = [message];
  if (step !== null) lines.push(`step     ${step}${exitCode === null ? '' : `, exit code ${exitCode}`}`);
  if (command !== null) lines.push(`command  ${command}`);
  return [...lines, ...lastLines.map((line) => `  ${line}`)].map(printable).join('\n');
}

/** Output as it is, and a line for each step. */
export function logText(screen: Screen, item: BuildLogItem): string {
  const { kind, step, text, outcome, ms } = item;
  if (kind === 'output') return shown(text);
  if (kind === 'step-began') return `${screen.paint(`── ${printable(step ?? '')}: ${printable(text)}`, 'busy')}\n`;
  if (kind === 'note') return `${screen.paint(printable(text), 'faint')}\n`;
  const took = ms === undefined ? '' : ` (${seconds(ms)})`;
  const what = kind === 'ended' ? `the build ${outcome}` : `── ${step ?? ''} ${outcome}`;
  return `${screen.paint(`${printable(what)}${took}`, tones[outcome ?? ''])}\n`;
}

/** Line breaks and tabs stay; whatever else could move a cursor goes. */
function shown(text: string): string {
  const lines = text.split('\n').map((line) => printable(line.replace(/\r$/, '').replace(/^.*\r/, '')));
  return lines.join('\n');
}

function took({ startedAt, endedAt }: Build): string {
  if (startedAt === null) return '-';
  return seconds((endedAt === null ? Date.now() : Date.parse(endedAt)) - Date.parse(startedAt));
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** What exactly ran, in a few lines; the whole of it is the JSON. */
export function attemptText(attempt: Attempt): string {
  const { sources, plan } = attempt;
  const packages = (plan as { packages?: { nativeName: string; version?: string }[] } | null)?.packages ?? [];
  const rows: [string, string | null | undefined][] = [
    ['attempt', attempt.id],
    ['sandbox', `${attempt.sandbox}, incarnation ${attempt.incarnation}`],
    ['action', attempt.action],
    ['state', attempt.reason === null ? attempt.state : `${attempt.state}: ${attempt.reason.message}`],
    ['driver', attempt.driver],
    ['blueprint', attempt.blueprintDigest],
    ['plan', attempt.planDigest],
    ['build', attempt.build],
    ['image', attempt.image],
    ['snapshot', attempt.fromSnapshot],
    ['commit', sources?.commit],
    ...Object.entries(sources?.inputs ?? {}).map(([id, fact]): [string, string] => [`input ${id}`, fact]),
    ['packages', packages.map(({ nativeName, version }) => [nativeName, version].filter(Boolean).join(' ')).join(', ')],
    ['started', attempt.startedAt],
    ['ended', attempt.endedAt],
  ];
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${printable(value ?? '')}`).join('\n');
}
