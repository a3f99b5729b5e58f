import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { unixFetch } from '../unix-fetch.ts';

/** Whether a process listens there. A file that a killed server left behind refuses at once. */
export function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** A server that hangs must not hold its prober. */
const probeMs = 2_000;

/** Whether the server is ready for requests; a reason when it says that it is not. */
export async function readiness(socketPath: string): Promise<{ ready: boolean; reason: string }> {
  try {
    const response = await unixFetch(socketPath)('http://localhost/readyz', { signal: AbortSignal.timeout(probeMs) });
    const text = await response.text();
    return { ready: response.status === 200, reason: text.slice(0, 500) };
  } catch (error) {
    return { ready: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether the process still runs. One that ended and that nobody has waited for counts as ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return true;
  }
}
