import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { CaissonError, hasCode } from '@caisson/contract';
import { makeDataFolder, readFacts } from '@caisson/server/data-place';
import type { Invocation } from '../invocation.ts';
import type { LocalPlace } from './data-folder.ts';
import { folderChange } from './folder-change.ts';
import { isListening, readiness } from './probe.ts';
import { lastProblem, openLog, readLog } from './server-log.ts';

/** A data folder of 10,000 sandboxes is open in 3 s; a slow disk and a busy machine get ten times that. */
const startSeconds = 30;
/** How often to look when no notification comes. */
const lookMs = 100;
/** How long a server that holds the folder may take to answer before we try to take its place. */
const otherServerMs = 2_000;
/** Enough to see what went wrong. */
const shownLogLines = 12;

/**
 * Makes sure that a server answers at this place, and says whether it was us who started it. Two commands at once start
 * one server: the folder's lock lets one of them in, and the other waits for the winner's socket.
 */
export async function ensureServer(place: LocalPlace, invocation: Pick<Invocation, 'bin' | 'env'>): Promise<boolean> {
  if (await isListening(place.socket)) return false;
  makeDataFolder(place.folder);
  const deadline = Date.now() + startSeconds * 1000;
  for (;;) {
    const started = spawnServer(place, invocation);
    const outcome = await untilReady(place, started, deadline);
    if (outcome !== 'locked') return outcome === 'own';
    // The other one will answer, or it is on its way out and the folder is free again.
    if (await otherAnswers(place, Math.min(deadline, Date.now() + otherServerMs))) return false;
    if (Date.now() >= deadline) throw tooLate(place, started.offset, 'another server holds the data folder');
  }
}

interface Started {
  readonly child: ChildProcess;
  /** Where its part of the log begins. */
  readonly offset: number;
  /** Resolves with what it left when it has ended. */
  readonly ended: Promise<string>;
}

function spawnServer(place: LocalPlace, { bin, env }: Pick<Invocation, 'bin' | 'env'>): Started {
  const { fd, offset } = openLog(place.log);
  // The server is nobody's client: what reaches another one stays out of its environment.
  const { CAISSON_URL: _, CAISSON_API_KEY: __, ...rest } = env;
  try {
    const child = spawn(process.execPath, [bin, 'serve', '--data', place.folder, '--json'], {
      detached: true,
      stdio: ['ignore', fd, fd],
      cwd: place.folder,
      env: rest,
    });
    const ended = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal === null ? `with code ${code}` : `by ${signal}`));
      child.once('error', (error) => resolve(`: ${error.message}`));
    });
    child.unref();
    return { child, offset, ended };
  } finally {
    closeSync(fd);
  }
}

async function untilReady(place: LocalPlace, started: Started, deadline: number): Promise<'own' | 'other' | 'locked'> {
  let end: string | undefined;
  started.ended.then((how) => {
    end = how;
  });
  let reason = '';
  while (Date.now() < deadline) {
    if (end !== undefined) {
      const error = failedStart(place, started, end);
      if (hasCode(error, 'data_folder_locked')) return 'locked';
      throw error;
    }
    const state = (await isListening(place.socket)) ? await readiness(place.socket) : { ready: false, reason };
    const pid = state.ready ? readFacts(place.folder)?.pid : undefined;
    if (pid !== undefined) return pid === started.child.pid ? 'own' : 'other';
    reason = state.reason;
    await Promise.race([folderChange(place.folder, lookMs), started.ended]);
  }
  started.child.kill();
  throw tooLate(place, started.offset, reason);
}

async function otherAnswers(place: LocalPlace, until: number): Promise<boolean> {
  for (;;) {
    if ((await isListening(place.socket)) && (await readiness(place.socket)).ready) return true;
    if (Date.now() >= until) return false;
    await folderChange(place.folder, lookMs);
  }
}

function failedStart(place: LocalPlace, { offset }: Started, how: string): CaissonError {
  const lines = readLog(place.log, offset);
  const known = lastProblem(lines);
  if (known) return known;
  return new CaissonError('server_unreachable', `the server in the background ended ${how} before it was ready`, {
    context: { log: lines.slice(-shownLogLines), file: place.log },
    hint: `\`caisson serve --data ${place.folder}\` runs it in front.`,
  });
}

function tooLate(place: LocalPlace, offset: number, reason: string): CaissonError {
  return new CaissonError('server_unreachable', `no server was ready within ${startSeconds} s`, {
    context: { reason, log: readLog(place.log, offset).slice(-shownLogLines), file: place.log },
    hint: `\`caisson serve --data ${place.folder}\` runs it in front.`,
  });
}
