import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { type TestServer, testServer } from '../e2e/server.ts';
import { type EngineOptions, type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';

const os = { family: 'image', reference: 'localhost/tools:latest' };
const runtime = { network: { mode: 'off' }, resources: { memoryMiB: 128, pids: 128 } };
const spec = { source: { kind: 'none' }, target: { os }, runtime };
const never = new AbortController().signal;
const patience = { timeout: 30_000 * slowness, interval: 200 };
type Options = Parameters<typeof testServer>[0];

/** A real engine in trouble, below a server that goes on. */
describe.each(['docker', 'podman'] as const)('a server on %s, which', { timeout: 240_000 * slowness }, (name) => {
  let real: RealEngine | undefined;
  let server: TestServer | undefined;
  beforeEach((context) => {
    const missing = whyNoEngine(name);
    if (missing !== undefined) skip(context, missing);
  });
  afterEach(async () => {
    real?.thaw();
    await server?.close();
    await real?.close();
    [server, real] = [undefined, undefined];
  }, 120_000 * slowness);

  async function open(engine: EngineOptions = {}, options: Options = {}) {
    const own = await startEngine(name, [], engine);
    real = own;
    const engines = { dockerHost: own.host, podmanHost: own.host };
    server = await testServer({ drivers: [name], engines, reconcileSeconds: 0.3, ...options });
    const caisson = new Caisson({ baseUrl: server.url, retries: 0 });
    const containers = async () => {
      const query = { all: true };
      const { body } = await own.engine.call<{ Names: string[] }[]>('GET', '/containers/json', {
        query,
        signal: never,
      });
      return body.flatMap(({ Names }) => Names).sort();
    };
    return { own, caisson, containers };
  }
  const make = (caisson: Caisson) => caisson.sandboxes.create({ spec, waitSeconds: 120 });

  test('is killed in the middle of creates leaves nothing that no record has', async () => {
    const { own, caisson, containers } = await open();
    await (await make(caisson)).destroy();
    for (let round = 0; round < 4; round += 1) {
      const creating = Array.from({ length: 4 }, () => make(caisson).catch((error) => error));
      await delay(round * 120);
      await own.kill();
      const made = await Promise.all(creating);
      await own.start();
      for (const one of made.filter((each): each is Error => each instanceof Error))
        expect(one).toMatchObject({
          code: expect.stringMatching(/^(driver_|guest_|storage_|instance_lost|no_route|circuit)/),
        });
      const all: SandboxHandle[] = [];
      for await (const sandbox of caisson.sandboxes.list()) all.push(sandbox);
      await Promise.all(all.map((sandbox) => sandbox.destroy()));
      await expect.poll(containers, patience).toEqual([]);
    }
    // Its circuit may be open by now; another tenant's is not, and time closes it.
    await expect
      .poll(
        () =>
          make(caisson).then(
            async (sandbox) => (await sandbox.exec('echo back')).stdout,
            (error) => error.code,
          ),
        {
          timeout: 90_000 * slowness,
          interval: 1_000,
        },
      )
      .toBe('back\n');
  });

  test('hangs is given up after the deadline, is taken for nothing else, and goes on when it answers', async () => {
    const deadlines = { launchMs: 3_000 * slowness, inspectMs: 1_000, endMs: 3_000 * slowness };
    const { own, caisson, containers } = await open({}, { deadlines });
    const sandbox = await make(caisson);
    own.freeze();
    const failed = await make(caisson).catch((error) => error);
    expect(failed).toMatchObject({ code: 'driver_timeout' });
    // The channel of one that runs goes through the engine, or lives on; its record says nothing that is not known.
    expect((await caisson.sandboxes.get(sandbox.id)).record.state).toBe('ready');
    const doctor = await caisson.doctor();
    expect(doctor.checks.find((check) => check.name === `driver ${name}`)).toMatchObject({ ok: false });
    own.thaw();
    await expect
      .poll(async () => (await sandbox.exec('echo on').catch(() => undefined))?.stdout, patience)
      .toBe('on\n');
    await sandbox.destroy();
    await caisson.sandboxes.destroy(String(failed.context.sandbox));
    await expect.poll(containers, patience).toEqual([]);
  });

  test('has a full disk says so, leaves nothing, and goes on when there is room', async () => {
    const { own, caisson, containers } = await open({ disk: { type: 'ext4', mebibytes: 160 } });
    await (await make(caisson)).destroy();
    const data = join(own.folder, 'data');
    const full = join(data, 'full');
    // It ends when there is no room left.
    spawnSync('dd', ['if=/dev/zero', `of=${full}`, 'bs=64k']);
    const failed = await make(caisson).catch((error) => error);
    expect(failed).toMatchObject({ code: 'storage_full' });
    await expect.poll(containers, patience).toEqual([]);
    rmSync(full);
    const sandbox = await make(caisson);
    expect((await sandbox.exec('echo room')).stdout).toBe('room\n');
    await sandbox.destroy();
  });
});

test('an engine on btrfs limits the disk of a sandbox, beyond what its image has', {
  timeout: 120_000,
}, async (context) => {
  const missing = whyNoEngine('docker');
  if (missing !== undefined) skip(context, missing);
  const real = await startEngine('docker', [], { disk: { type: 'btrfs', mebibytes: 600 } });
  const server = await testServer({ drivers: ['docker'], engines: { dockerHost: real.host } });
  try {
    const caisson = new Caisson({ baseUrl: server.url });
    const resources = { ...runtime.resources, diskMiB: 64 };
    const sandbox = await caisson.sandboxes.create({ spec: { ...spec, runtime: { ...runtime, resources } } });
    expect(sandbox.record.notices.join()).not.toContain('disk');
    const done = await sandbox.exec('dd if=/dev/zero of=/full bs=1M count=200 2>&1; stat -c %s /full', {
      user: 'root',
    });
    expect(done.stdout).toMatch(/[Qq]uota exceeded|No space left/);
    const bytes = Number(done.stdout.trim().split('\n').at(-1));
    expect(bytes).toBeGreaterThan(40 * 1024 ** 2);
    expect(bytes).toBeLessThanOrEqual(65 * 1024 ** 2);
    await sandbox.destroy();
  } finally {
    await server.close();
    await real.close();
  }
});
