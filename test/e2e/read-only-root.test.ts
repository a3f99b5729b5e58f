import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { type TestServer, testServer } from './server.ts';

const runtime = { network: { mode: 'off' }, persistence: 'persistent', readOnlyRoot: true };
const spec = { source: { kind: 'none' }, os: 'host', runtime };

describe.runIf(whyNoSandboxes === undefined)('a sandbox whose root is read-only', () => {
  let server: TestServer;
  let caisson: Caisson;
  beforeAll(async () => {
    server = await testServer({ drivers: ['oci', 'fake'] });
    caisson = new Caisson({ baseUrl: server.url });
  }, 120_000);
  afterAll(() => server?.close(), 60_000);

  const change = (sandbox: SandboxHandle, text: string) =>
    sandbox.exec(`echo ${text} > /workspace/file; touch /etc/x /opt/x 2>&1 | grep -c 'Read-only file system'`, {
      user: 'root',
    });
  const read = (sandbox: SandboxHandle) => sandbox.files.readText('/workspace/file');

  test('has its workspace in snapshots, and after a rollback, a stop, a restore and a fork', async () => {
    const sandbox = await caisson.sandboxes.create({ spec });
    await sandbox.exec('touch /workspace/by-user');
    expect((await change(sandbox, 'one')).stdout).toBe('2\n');
    const { id } = await sandbox.snapshot({ name: 'one' });
    await change(sandbox, 'two');
    await sandbox.rollback('one');
    expect(await read(sandbox)).toBe('one\n');
    await sandbox.stop();
    await sandbox.start();
    const [fork] = await sandbox.fork({ count: 1 });
    const restored = await caisson.snapshots.restore(id);
    for (const one of [sandbox, fork, restored]) {
      if (!one) throw new Error('there is no fork');
      expect(await read(one)).toBe('one\n');
      expect((await change(one, 'three')).stdout).toBe('2\n');
      expect((await one.exec('rm /workspace/by-user; cd && touch x && pwd')).stdout).toBe('/home/user\n');
    }
    await Promise.all([sandbox.destroy(), fork?.destroy(), restored.destroy()]);
  }, 120_000);

  test('is not made where that cannot be had', async () => {
    const decision = await caisson.sandboxes.explain({ spec });
    const fake = decision.candidates.find(({ driver }) => driver === 'fake');
    expect(fake?.rejections).toMatchObject([{ path: 'runtime.readOnlyRoot' }]);
  });

  test('a workspace of the image that leads elsewhere is refused, and nothing is made there', async () => {
    const wrong = { ...spec, runtime: { ...runtime, workspaceRoot: '/bin/work' } };
    await expect(caisson.sandboxes.create({ spec: wrong })).rejects.toMatchObject({ code: 'image_invalid' });
  });
});
