import type { ProcessRecord } from '@caisson/contract';
import type { AttachOptions } from '@caisson/sdk';

/** A few screens. More of a terminal's past only scrolls by. */
const terminalBytes = 32 * 1024;

/** Where to begin when coming back: a few screens of a terminal, all that is kept of anything else. */
export function replayOf(record: Pick<ProcessRecord, 'pty' | 'stdoutBytes'>): AttachOptions {
  if (!record.pty) return { stdoutFrom: 0, stderrFrom: 0 };
  return { stdoutFrom: Math.max(0, record.stdoutBytes - terminalBytes) };
}
