import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuildLogItem, type CaissonEvent, newId } from '@caisson/contract';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testDebianBase, testImagesFolder } from '../debian-base.ts';
import { type OtlpReceiver, pathsOf, startOtlpReceiver } from '../otlp-receiver.ts';
import { caissonBin, type ServerProcess, startServerProcess } from '../server-process.ts';
import { slowness } from '../slowness.ts';

const isRoot = process.getuid?.() === 0;
const patience = { timeout: 120_000 * slowness };

/** What is built of a spec, on a server with a Debian base, with the native builder and real sandboxes. */
describe.runIf(isRoot)('a create that builds', patience, () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-build-'));
  let server: ServerProcess;
  let caisson: Caisson;
  let collector: OtlpReceiver;

  const start = async () => {
    // Its pool is nobody's to destroy.
    const more = ['--destroy-on-exit', '--otlp-endpoint', collector.endpoint];
    server = await startServerProcess(folder, { drivers: ['oci'], more });
    caisson = new Caisson({ baseUrl: server.url });
  };

  beforeAll(async () => {
    collector = await startOtlpReceiver();
    await testDebianBase();
    copyImages(join(folder, 'images'));
    mkdirSync(join(folder, 'profiles'));
    const spec = specOf('echo ahead > /etc/made');
    const profile = { name: 'built', version: 1, sourceRequired: false, spec, pool: { min: 1, max: 1 } };
    writeFileSync(join(folder, 'profiles', 'built.json'), JSON.stringify(profile));
    await start();
  }, 300_000 * slowness);

  afterAll(async () => {
    for await (const sandbox of caisson.sandboxes.list()) await sandbox.destroy();
    await server.stop();
    collector.close();
    rmSync(folder, { recursive: true, force: true });
  }, patience.timeout);

  const specOf = (...setup: string[]) => ({
    source: { kind: 'none' },
    os: 'debian',
    runtime: { network: { mode: 'off' } },
    setup: setup.map((run) => ({ run, workingDirectory: '/' })),
  });

  const statesOf = async (sandbox: SandboxHandle) => {
    const states: string[] = [];
    for await (const { type, data } of sandbox.events({ follow: false }) as AsyncIterable<CaissonEvent>)
      if (typeof data.to === 'string') states.push(type.replace('caisson.sandbox.', ''));
    return states;
  };

  const attemptOf = ({ id, record }: SandboxHandle) => caisson.sandboxes.attempt(id, record.attempt ?? '');

  /** The build of a sandbox, as soon as a worker has it. */
  async function buildOf(sandbox: SandboxHandle): Promise<string> {
    for (;;) {
      const { build } = await attemptOf(sandbox);
      if (build !== null && (await caisson.builds.get(build)).steps.length > 0) return build;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test(
    'goes through building to ready, says what it is made of, and is not built a second time',
    patience,
    async () => {
      const spec = specOf(`echo ${newId('request')} > /etc/made; echo made it`);
      const sandbox = await caisson.sandboxes.create({ spec, waitSeconds: 100 });
      expect(await statesOf(sandbox)).toEqual(['requested', 'building', 'provisioning', 'ready']);
      const attempt = await attemptOf(sandbox);
      const build = await caisson.builds.get(attempt.build ?? '');
      expect(build).toMatchObject({ state: 'succeeded', planDigest: attempt.planDigest, image: attempt.image });
      expect(build.steps.at(-1)).toMatchObject({ id: 'setup-setup-1', state: 'done' });
      const log: BuildLogItem[] = [];
      for await (const item of caisson.builds.follow(build.id)) log.push(item);
      expect(log.map(({ text }) => text)).toContain('made it\n');
      expect(log.at(-1)).toMatchObject({ kind: 'ended', outcome: 'succeeded' });

      // The warm pool builds too, in a trace of its own.
      for (const step of ['build.room', 'guest.step'])
        await expect
          .poll(() => pathsOf(collector.spans, step), { timeout: 60_000 * slowness })
          .toContainEqual(['sandbox.create', 'build', 'build.job', step]);

      const same = await caisson.sandboxes.create({ spec, waitSeconds: 100 });
      expect(await statesOf(same)).toEqual(['requested', 'provisioning', 'ready']);
      expect(await attemptOf(same)).toMatchObject({ build: build.id, image: attempt.image });
      expect((await same.exec('cat /etc/made')).stdout).toBe((await sandbox.exec('cat /etc/made')).stdout);

      await same.recreate();
      expect(await attemptOf(same)).toMatchObject({ action: 'recreate', build: build.id, image: attempt.image });
      await same.destroy();
      const told = (...words: string[]) =>
        execFileSync(process.execPath, [caissonBin, ...words], {
          env: { ...process.env, CAISSON_DATA_FOLDER: folder },
          encoding: 'utf8',
        });
      expect(told('attempt', 'show', same.id)).toContain(`image      ${attempt.image}`);
      expect(told('build', 'logs', '-f', build.id)).toMatch(/made it\n[\s\S]*the build succeeded\n$/);
      const past = await caisson.call('attempt.get', { params: { id: attempt.id } });
      expect(past).toMatchObject({ image: attempt.image, plan: { steps: [{ id: 'setup-1' }] } });
    },
  );

  test('is done ahead for a warm pool, whose members are claimed as every other', patience, async () => {
    const pool = async () => (await caisson.pools.list())[0];
    await expect.poll(pool, { timeout: patience.timeout }).toMatchObject({ ready: 1, problem: null });
    const sandbox = await caisson.sandboxes.create({ profile: 'built', waitSeconds: 100 });
    expect(await pool()).toMatchObject({ taken: 1, misses: 0 });
    expect((await sandbox.exec('cat /etc/made')).stdout).toBe('ahead\n');
    expect(await attemptOf(sandbox)).toMatchObject({
      image: expect.stringMatching(/^sha256:/),
      build: expect.any(String),
    });
    await caisson.pools.set('built', { min: 0, max: 0 });
    await sandbox.destroy();
  });

  test('that cannot be planned is refused before anything is written', async () => {
    const spec = { ...specOf('true'), os: 'host' };
    const name = 'never';
    await expect(caisson.sandboxes.create({ spec, name })).rejects.toMatchObject({ code: 'unsupported-os' });
    expect((await caisson.sandboxes.page({ name })).items).toEqual([]);
  });

  test('whose step fails names it, with its command and its last lines', patience, async () => {
    const spec = specOf('echo one; echo trouble >&2; exit 4');
    await expect(caisson.sandboxes.create({ spec, waitSeconds: 100, name: 'fails' })).rejects.toMatchObject({
      code: 'build_failed',
      context: { step: 'setup-setup-1', exitCode: 4, lastLines: ['one', 'trouble'] },
    });
    const { items } = await caisson.sandboxes.page({ name: 'fails' });
    expect(items[0]?.record).toMatchObject({ state: 'failed', reason: { code: 'build_failed' } });
  });

  test('that is destroyed meanwhile stops its build, unless another waits for it', patience, async () => {
    const spec = specOf('echo begun; sleep 600');
    const [one, other] = await Promise.all([0, 1].map(() => caisson.sandboxes.create({ spec, waitSeconds: 0 })));
    if (!one || !other) throw new Error('they were not made');
    const build = await buildOf(one);
    expect(await buildOf(other)).toBe(build);
    await one.destroy();
    expect((await caisson.builds.get(build)).state).toBe('running');
    await other.destroy();
    expect(await caisson.builds.get(build)).toMatchObject({
      state: 'cancelled',
      error: { message: 'nobody waits for it any more' },
    });
  });

  test('goes on with the next server when this one is killed', patience, async () => {
    const spec = specOf(`echo ${newId('request')}; sleep 4; echo through > /etc/through`);
    const sandbox = await caisson.sandboxes.create({ spec, waitSeconds: 0 });
    const build = await buildOf(sandbox);
    await server.kill();
    await start();
    const again = await caisson.sandboxes.get(sandbox.id);
    expect(['building', 'provisioning', 'ready']).toContain(again.state);
    await again.untilSettled();
    expect(again.record).toMatchObject({ state: 'ready', incarnation: 1 });
    expect(await attemptOf(again)).toMatchObject({ build });
    expect(await caisson.builds.get(build)).toMatchObject({ state: 'succeeded', tries: 2 });
    expect((await again.exec('cat /etc/through')).stdout).toBe('through\n');
  });
});

/** Layers never change, so they need not be copied where both places are on one disk. */
function copyImages(to: string): void {
  try {
    execFileSync('cp', ['-al', testImagesFolder, to], { stdio: 'ignore' });
  } catch {
    rmSync(to, { recursive: true, force: true });
    execFileSync('cp', ['-a', '--reflink=auto', testImagesFolder, to]);
  }
}
