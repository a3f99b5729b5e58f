import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { identify, isAlive, isEnding } from './process-identity.ts';

test('a process lives until it is killed, and another with its pid is not it', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const identity = identify(child.pid ?? 0);
  if (!identity) throw new Error('it did not start');
  expect([isAlive(identity), isEnding(identity)]).toEqual([true, false]);
  expect(isAlive({ ...identity, startedAt: identity.startedAt - 1 })).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect([isAlive(identity), isEnding(identity)]).toEqual([false, true]);
});

test('a process is ending from the moment that it was killed', async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const identity = identify(child.pid ?? 0);
  if (!identity) throw new Error('it did not start');
  child.kill('SIGKILL');
  // Whether the signal is still pending, the process is on its way, or only its remains are left.
  expect(isEnding(identity)).toBe(true);
  await once(child, 'exit');
});
