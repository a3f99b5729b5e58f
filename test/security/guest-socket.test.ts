import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { decodeMessage, encodeFrame, encodeMessage, FrameDecoder, hello, limits, refuse } from '@caisson/guest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OciDriver } from '../../packages/server/src/drivers/oci/oci-driver.ts';
import { type Attacked, compile, never, SandboxWorld } from './sandbox-world.ts';

const socket = '/dev/.caisson/run/socket';

describe.each(['runc', 'crun', 'runsc'] as const)("the guest's socket under %s", (runtime) => {
  let world: SandboxWorld;
  let sandbox: Attacked;

  beforeAll(async () => {
    world = await SandboxWorld.open(runtime);
    sandbox = await world.launch();
    await sandbox.guest.files.write('/talk', compile('talk.c'), { user: 'root', mode: 0o755 });
  });
  afterAll(() => world.close());

  function helloWith(secret: Uint8Array | undefined): Buffer {
    const said = {
      minVersion: 1,
      maxVersion: 1,
      guestVersion: 'x',
      sandboxId: sandbox.id,
      incarnation: 1,
      bootId: randomBytes(16),
      initialWindow: limits.windowInitial,
      maxChannels: 100,
      ...(secret ? { secret } : {}),
    };
    return encodeFrame('hello', 0, encodeMessage(hello, said));
  }

  async function say(bytes: Buffer, user = 'root'): Promise<{ answer: string; stderr: string; ms: number }> {
    const begin = performance.now();
    const argv = ['/talk', socket, '1'];
    const { stdout, stderr } = await sandbox.guest.processes.exec(argv, { user, input: bytes, timeoutMs: 10_000 });
    const answers: string[] = [];
    new FrameDecoder().push(stdout, ({ type, payload }) => {
      answers.push(type === 'refuse' ? decodeMessage(refuse, payload).reason : type);
    });
    return { answer: answers.join(), stderr: stderr.toString(), ms: performance.now() - begin };
  }

  test('a second dialler without a secret is refused, and the guest goes on', async () => {
    expect(await say(helloWith(undefined))).toMatchObject({ answer: 'auth_failed' });
    expect(await sandbox.isWell()).toBe(true);
  });

  test('a second dialler with a wrong secret is refused, and the guest goes on', async () => {
    expect(await say(helloWith(randomBytes(32)))).toMatchObject({ answer: 'auth_failed' });
    expect(await sandbox.isWell()).toBe(true);
  });

  test('noise, a frame without end and a frame out of order are cut off at once', async () => {
    const endless = Buffer.alloc(12);
    endless.writeUInt32LE(0xffff_ffff, 0);
    for (const bytes of [randomBytes(4096), endless, encodeFrame('ping', 0, Buffer.alloc(8))])
      expect(await say(bytes)).toMatchObject({ answer: '', ms: expect.toSatisfy((ms: number) => ms < 3_000) });
    expect(await sandbox.isWell()).toBe(true);
  });

  test('the user does not even get to the socket', async () => {
    expect(await say(helloWith(undefined), 'user')).toMatchObject({ answer: '', stderr: 'Permission denied\n' });
  });

  test('two hundred silent diallers do not keep the guest out of a server that comes back', async () => {
    const noise = await sandbox.guest.processes.spawn({ argv: ['/talk', socket, '200'], user: 'root', attach: false });
    await delay(300);
    await world.driver.close();
    const { host, root } = world;
    const next = new OciDriver({ root, host, guestProgram: world.guestProgram });
    try {
      const begin = performance.now();
      const guest = await next.guest(sandbox.key, never);
      const { stdout } = await guest.processes.exec(['/bin/echo', 'back'], { timeoutMs: 10_000 });
      expect(stdout.toString()).toBe('back\n');
      expect(performance.now() - begin).toBeLessThan(30_000);
      await guest.processes.attach(noise.id).signal(9);
    } finally {
      await next.close();
    }
  });
});
