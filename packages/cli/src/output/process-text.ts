import type { ProcessRecord } from '@caisson/contract';
import { exitCodeOf } from '../sessions/exit-code.ts';
import type { Screen } from './screen.ts';
import { type Cell, table } from './table.ts';
import { relativeTime } from './time.ts';

/** The beginning says which one it is; `--json` has more. */
const maxCommandChars = 80;

export function processTable(screen: Screen, processes: readonly ProcessRecord[]): string {
  return table(
    ['PROCESS', 'PID', 'USER', 'STATUS', 'STARTED', 'TAGS', 'COMMAND'],
    processes.map((process) => [
      process.id,
      process.running ? String(process.pid) : '-',
      process.user,
      statusCell(screen, process),
      relativeTime(process.startedAt),
      process.tags.join(',') || '-',
      cut(process.command),
    ]),
  );
}

function statusCell(screen: Screen, { exit, pty }: ProcessRecord): Cell {
  if (exit === null) {
    return { text: pty ? 'running, terminal' : 'running', paint: (text) => screen.paint(text, 'good') };
  }
  const failed = exit.why !== 'exited' || exit.exitCode !== 0;
  return { text: endText(exit), paint: (text) => screen.paint(text, failed ? 'bad' : 'faint') };
}

function endText(exit: NonNullable<ProcessRecord['exit']>): string {
  if (exit.why === 'exited') return `exited ${exit.exitCode ?? '?'}`;
  if (exit.why === 'signalled') return exit.signal ?? `exited ${exitCodeOf(exit)}`;
  return exit.why.replaceAll('_', ' ');
}

function cut(text: string): string {
  return text.length > maxCommandChars ? `${text.slice(0, maxCommandChars - 1)}…` : text;
}
