import { type ProcessExit, type ProcessRecord, signalName } from '@caisson/contract';
import type { ExitStatus, ProcessInfo } from '@caisson/guest';

/** A process of the guest as the API shows it. */
export function processRecord(info: ProcessInfo): ProcessRecord {
  return {
    id: info.id as ProcessRecord['id'],
    pid: info.pid,
    command: info.command,
    user: info.user,
    tags: [...info.tags],
    pty: info.pty,
    running: info.exit === undefined,
    startedAt: time(info.startedAt),
    stdoutBytes: info.stdoutBytes,
    stderrBytes: info.stderrBytes,
    stdinBytes: info.stdinBytes,
    exit: info.exit === undefined ? null : processExit(info.exit),
  };
}

export function processExit(exit: ExitStatus): ProcessExit {
  return {
    ...howEnded(exit),
    endedAt: time(exit.endedAt),
    stdoutBytes: exit.stdoutBytes,
    stderrBytes: exit.stderrBytes,
    cpuSeconds: exit.cpuMilliseconds / 1000,
    maxMemoryBytes: exit.maxRssKiB * 1024,
  };
}

export function howEnded(exit: ExitStatus): Pick<ProcessExit, 'exitCode' | 'signal' | 'why'> {
  return {
    exitCode: exit.code ?? null,
    signal: exit.signal === undefined ? null : signalName(exit.signal),
    why: exit.why,
  };
}

/** The guest is not trusted with what `Date` takes. */
function time(ms: number): string {
  return new Date(Math.min(ms, 8.64e15)).toISOString();
}
