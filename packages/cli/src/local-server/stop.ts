import { CaissonError } from '@caisson/contract';
import { readFacts } from '@caisson/server/data-place';
import type { LocalPlace } from './data-folder.ts';
import { folderChange } from './folder-change.ts';
import { isListening, isRunning } from './probe.ts';

/** A server drains its requests for 10 s by itself; beyond this it hangs. */
const stopSeconds = 60;
const lookMs = 50;

/** Ends the server of this place and waits until it is gone. Gives its pid, or undefined when none ran. */
export async function stopServer(place: LocalPlace): Promise<number | undefined> {
  // Only a process that listens there is the server: the pid in the file may be somebody else's by now.
  if (!(await isListening(place.socket))) return undefined;
  const facts = readFacts(place.folder);
  if (facts === undefined) {
    throw new CaissonError('server_unreachable', `a server listens on ${place.socket}, but does not say who it is`, {
      hint: 'It may be starting or ending: repeat it in a moment.',
    });
  }
  signal(facts.pid);
  const deadline = Date.now() + stopSeconds * 1000;
  while (isRunning(facts.pid)) {
    if (Date.now() >= deadline) {
      throw new CaissonError('request_timeout', `the server with pid ${facts.pid} has not ended in ${stopSeconds} s`, {
        hint: `\`kill -9 ${facts.pid}\` ends it at once; the next one settles what it left.`,
      });
    }
    await folderChange(place.folder, lookMs);
  }
  return facts.pid;
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // It ended by itself in between.
    if (code === 'ESRCH') return;
    throw new CaissonError('not_owner', `the server with pid ${pid} belongs to another user`, { cause: error });
  }
}
