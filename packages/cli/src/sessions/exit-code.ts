import { type ProcessExit, signalNumbers } from '@caisson/contract';

/** As `timeout` of the coreutils has it. */
const timedOut = 124;
/** SIGKILL, which is what ends a process whose end has no signal of its own to tell. */
const killed = 128 + signalNumbers.SIGKILL;

/** The exit code of a command as a shell would give it: its own, 128 and the signal, 124 when its time was up. */
export function exitCodeOf({ why, exitCode, signal }: Pick<ProcessExit, 'why' | 'exitCode' | 'signal'>): number {
  if (why === 'timed_out') return timedOut;
  if (exitCode !== null) return exitCode;
  const number = signal === null ? undefined : (signalNumbers as Record<string, number>)[signal];
  const realTime = /\d+$/.exec(signal ?? '')?.[0];
  return number !== undefined ? 128 + number : realTime !== undefined ? 128 + Number(realTime) : killed;
}

/** What a bare exit code would not tell. */
export function exitNote({ why }: Pick<ProcessExit, 'why'>): string | undefined {
  if (why === 'out_of_memory') return 'the command was ended because the sandbox is out of memory';
  if (why === 'timed_out') return 'the command was ended because its time was up';
  if (why === 'killed_with_sandbox') return 'the command ended with its sandbox';
  return undefined;
}
