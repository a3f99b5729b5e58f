import { Caisson } from '@caisson/sdk';
import { afterAll, expect, test } from 'vitest';
import { whyNoGuest } from '../../packages/guest/testing/start-guest.ts';
import { GuestDriver } from './guest-driver.ts';
import { collect, webSocket } from './inside-world.ts';
import { testServer } from './server.ts';

const reason = whyNoGuest();
const driver = new GuestDriver();
afterAll(() => driver.stopAll());

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test.skipIf(reason !== undefined)(
  'a server that ends lets go of everything at once; processes live on and are gone on with at the next one',
  async () => {
    const first = await testServer({ drivers: [driver] });
    const port = Number(new URL(first.url).port);
    const caisson = new Caisson({ baseUrl: first.url, webSocket });
    const sandbox = await caisson.sandboxes.create();
    const command = 'for i in $(seq 1 300); do echo line $i; sleep 0.01; done';
    const followed = await sandbox.processes.start(command, { outputWhenDetached: 'wait' });
    const plain = await new Caisson({ baseUrl: first.url }).sandboxes.get(sandbox.id);
    const bySocket = collect(followed.attach());
    let streamed = '';
    const byRequest = plain.run(command, { onStdout: (bytes) => (streamed += Buffer.from(bytes)) });
    const collected = sandbox.exec('sleep 60').catch((error) => error.code);
    const sleeper = await sandbox.processes.start('sleep 60');
    const waiting = sleeper.wait().catch((error) => error.code);
    const watching = sandbox.files.watch('/home/user');
    await watching.next();
    await sleep(300);

    const began = performance.now();
    await first.server.close();
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(await collected).toBe('shutting_down');

    const second = await testServer({ drivers: [driver], listen: [`127.0.0.1:${port}`] }, first.folder);
    const lines = Array.from({ length: 300 }, (_, n) => `line ${n + 1}\n`).join('');
    expect((await bySocket).stdout).toBe(lines);
    expect(await byRequest).toMatchObject({ exitCode: 0, lost: 0 });
    expect(streamed).toBe(lines);
    expect((await watching.next()).value).toMatchObject({ overflow: true });
    await watching.return();
    await sandbox.processes.signal(sleeper.id, 'SIGKILL');
    expect(await waiting).toMatchObject({ signal: 'SIGKILL' });
    const again = performance.now();
    await second.close();
    expect(performance.now() - again).toBeLessThan(20_000);
  },
);

test.skipIf(reason !== undefined)('a guest whose connection is lost goes on where it was', async () => {
  const server = await testServer({ drivers: [driver] });
  const sandbox = await new Caisson({ baseUrl: server.url, webSocket }).sandboxes.create();
  const guest = driver.started({ sandbox: sandbox.id, incarnation: 1 });
  let streamed = '';
  const running = sandbox.run('for i in $(seq 1 200); do echo line $i; sleep 0.01; done', {
    onStdout: (bytes) => (streamed += Buffer.from(bytes)),
  });
  await sleep(300);
  await guest.loseServer();
  await sleep(200);
  await guest.bringServer();
  expect(await running).toMatchObject({ exitCode: 0, lost: 0 });
  expect(streamed).toBe(Array.from({ length: 200 }, (_, n) => `line ${n + 1}\n`).join(''));
  expect((await sandbox.exec('echo again')).stdout).toBe('again\n');
  await server.close();
});
