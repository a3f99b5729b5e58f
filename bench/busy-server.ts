import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BusyAnswer, BusyRequest } from './busy-server-process.ts';
import type { SendPlan } from './send-events.ts';

export interface BusyServer {
  readonly url: string;
  readonly ids: readonly string[];
  /** Resolves when all of them are in the log. */
  send(plan: SendPlan): Promise<{ readonly count: number; readonly cpuMicros: number }>;
  close(): Promise<void>;
}

/** A server in a process of its own: whoever measures it shares no thread with it. */
export async function startBusyServer(folder: string, receiver: string): Promise<BusyServer> {
  const child = fork(fileURLToPath(new URL('./busy-server-process.js', import.meta.url)), [folder, receiver]);
  const ended = once(child, 'exit');
  const failed = ended.then(() => Promise.reject(new Error('the server ended')));
  failed.catch(() => {});
  const hear = async <K extends BusyAnswer['kind']>(kind: K) => {
    const [said] = (await Promise.race([once(child, 'message'), failed])) as [BusyAnswer];
    if (said.kind !== kind) throw new Error(`the server said ${said.kind}`);
    return said as Extract<BusyAnswer, { kind: K }>;
  };
  const ask = (asked: BusyRequest) => child.send(asked);
  const { url, ids } = await hear('ready').catch((error) => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    ...{ url, ids },
    send(plan) {
      ask({ kind: 'send', plan });
      return hear('sent');
    },
    async close() {
      ask({ kind: 'end' });
      await ended;
    },
  };
}
