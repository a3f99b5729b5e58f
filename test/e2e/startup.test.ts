import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GuestDriver } from './guest-driver.ts';
import { collect } from './inside-world.ts';
import { type TestServer, testServer } from './server.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-startup-'));
chmodSync(folder, 0o755);
let driver: GuestDriver;
let server: TestServer;
let caisson: Caisson;

beforeAll(async () => {
  driver = new GuestDriver();
  server = await testServer({ drivers: [driver] });
  caisson = new Caisson({ baseUrl: server.url });
});
afterAll(async () => {
  await server.close();
  await driver.stopAll();
  rmSync(folder, { recursive: true, force: true });
});

const spec = (startup: unknown) => ({
  source: { kind: 'none' },
  runtime: { network: { mode: 'off' }, workspaceRoot: join(folder, 'workspace') },
  env: { GREETING: 'hello' },
  startup,
});

test('steps run in order before it is ready, each in its folder, and what they wrote can be read', async () => {
  const steps = [
    { id: 'first', run: 'echo one > order; echo said $PWD', workingDirectory: join(folder, 'workspace', 'new') },
    { id: 'second', run: 'echo two >> order', workingDirectory: join(folder, 'workspace', 'new') },
  ];
  const sandbox = await caisson.sandboxes.create({ spec: spec({ steps }) });
  expect(readFileSync(join(folder, 'workspace', 'new', 'order'), 'utf8')).toBe('one\ntwo\n');
  const [first, second] = await sandbox.processes.list({ tag: 'startup' });
  expect([first, second].map((one) => one?.record.tags[1])).toEqual(['startup:first', 'startup:second']);
  expect(first && (await collect(first.written()))).toMatchObject({
    stdout: `said ${join(folder, 'workspace', 'new')}\n`,
  });
});

test('a step ends at the first command of it that fails, fails the launch, and says its last lines', async () => {
  const steps = [{ id: 'breaks', run: 'echo before; echo why it broke >&2; (exit 7); echo never' }];
  const creating = caisson.sandboxes.create({ spec: spec({ steps }), name: 'broken' });
  await expect(creating).rejects.toMatchObject({
    code: 'startup_failed',
    message: 'the startup step breaks ended with exit code 7: why it broke',
    context: { step: 'breaks', exitCode: 7, lastLines: ['before', 'why it broke'] },
  });
  const { items } = await caisson.sandboxes.page({ name: 'broken' });
  expect(items[0]?.record).toMatchObject({ state: 'failed', reason: { code: 'startup_failed' } });
});

test('a step that fills the disk says so, by its name', async () => {
  const steps = [{ id: 'fills', run: 'echo "dd: No space left on device" >&2; exit 1' }];
  const creating = caisson.sandboxes.create({ spec: spec({ steps }), name: 'filled' });
  await expect(creating).rejects.toMatchObject({
    code: 'disk_quota_exceeded',
    message: 'the startup step fills filled the disk of the sandbox',
    context: { step: 'fills', exitCode: 1 },
  });
  const { items } = await caisson.sandboxes.page({ name: 'filled' });
  expect(items[0]?.record).toMatchObject({ state: 'failed', reason: { code: 'disk_full' } });
});

test('the foreground runs in a terminal of its own, which people find by its tag', async () => {
  const foreground = { run: 'tty && echo listening && exec cat' };
  const sandbox = await caisson.sandboxes.create({ spec: spec({ steps: [], foreground }) });
  const [process] = await sandbox.processes.list({ tag: 'foreground' });
  expect(process?.record).toMatchObject({ pty: true, running: true });
});

test('a sandbox without startup has no process of ours', async () => {
  const sandbox = await caisson.sandboxes.create({ spec: spec({ steps: [] }) });
  expect(await sandbox.processes.list()).toEqual([]);
});
