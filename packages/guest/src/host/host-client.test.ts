import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../../../../test/conformance/skips.ts';
import { buildGuest } from '../../build.mjs';
import { HostClient } from './host-client.ts';

const isRoot = process.getuid?.() === 0;
let host: HostClient;
let folder: string;

beforeAll(() => {
  host = new HostClient(buildGuest({ quiet: true }));
  folder = mkdtempSync(join(tmpdir(), 'caisson-host-'));
}, 120_000);

afterAll(async () => {
  await host.close();
  rmSync(folder, { recursive: true, force: true });
});

test('what a killed server had begun ends before the next one begins', async () => {
  const lock = join(folder, 'lock');
  const mark = join(folder, 'mark');
  const binary = buildGuest({ quiet: true });
  const script = `
    import { HostClient } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
    const host = new HostClient(${JSON.stringify(binary)}, { lock: ${JSON.stringify(lock)} });
    await host.ping();
    void host.run(['/bin/sh', '-c', 'sleep 0.5; echo done > ${mark}'], { env: { PATH: '/bin' } }).catch(() => {});
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100);
  `;
  spawnSync(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
  expect(existsSync(mark)).toBe(false);
  const next = new HostClient(binary, { lock });
  await next.ping();
  expect(readFileSync(mark, 'utf8')).toBe('done\n');
  await next.close();
});

describe('programs', () => {
  test('a program runs with its own descriptors, environment and folder, and its output comes back', async () => {
    const script = 'pwd; echo $A; cat; ls /proc/self/fd | wc -l; echo err >&2; exit 4';
    const result = await host.run(['/bin/sh', '-c', script], {
      env: { A: 'b', PATH: '/usr/bin:/bin' },
      cwd: '/usr',
      stdin: Buffer.from('in\n'),
    });
    // Its three, and the one with which ls reads the folder.
    expect(Buffer.from(result.stdout).toString()).toBe('/usr\nb\nin\n4\n');
    expect(Buffer.from(result.stderr).toString()).toBe('err\n');
    expect(result).toMatchObject({ code: 4, timedOut: false });
  });

  test('output goes to files where it should, and is bounded where it does not', async () => {
    const stdoutPath = join(folder, 'out');
    await host.run(['/bin/echo', 'to the file'], { stdoutPath });
    expect(readFileSync(stdoutPath, 'utf8')).toBe('to the file\n');
    const result = await host.run(['/usr/bin/head', '-c', '1000000', '/dev/zero']);
    expect(result).toMatchObject({ code: 0 });
    expect(result.stdout.length).toBe(96 * 1024);
  });

  test('a timeout and an abort kill the whole group', async () => {
    expect(
      await host.run(['/bin/sh', '-c', 'sleep 60 & wait'], { env: { PATH: '/bin' }, timeoutMs: 100 }),
    ).toMatchObject({ timedOut: true, signal: 9 });
    const signal = AbortSignal.timeout(100);
    await expect(host.run(['/bin/sleep', '60'], { signal })).rejects.toMatchObject({ code: 'request_timeout' });
  });

  test('the end of one host program is no answer to what was asked of the next', async () => {
    const own = new HostClient(buildGuest({ quiet: true }));
    const slow = own.run(['/bin/sleep', '0.3']);
    const closing = own.close();
    const next = own.run(['/bin/sleep', '0.6']);
    await closing;
    expect(await slow).toMatchObject({ code: 0 });
    expect(await next).toMatchObject({ code: 0 });
    await own.close();
  });

  test('what cannot be run says why, and a daemon does not hold up the answer', async () => {
    await expect(host.run(['/no/such'])).rejects.toMatchObject({
      code: 'driver_failed',
      context: { errorName: 'ENOENT' },
    });
    await expect(host.run([])).rejects.toMatchObject({ context: { errorName: 'EINVAL' } });
    const began = performance.now();
    await host.run(['/bin/sh', '-c', 'sleep 30 &'], { env: { PATH: '/bin' } });
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(await host.start(['/bin/true'])).toBeGreaterThan(1);
  });

  test('what is given no input has an empty one of its own: runtimes give theirs away', async () => {
    const { stdout } = await host.run(['/bin/sh', '-c', 'readlink /proc/self/fd/0; cat'], { env: { PATH: '/bin' } });
    expect(stdout.toString()).toMatch(/^pipe:\[\d+\]\n$/);
  });

  test('many at once are answered each', async () => {
    const results = await Promise.all(Array.from({ length: 100 }, (_, n) => host.run(['/bin/echo', `${n}`])));
    expect(results.map(({ stdout }) => Buffer.from(stdout).toString())).toEqual(
      Array.from({ length: 100 }, (_, n) => `${n}\n`),
    );
  });

  test('a program that dies is started anew', async () => {
    const other = new HostClient(buildGuest({ quiet: true }));
    const { stdout } = await other
      .run(['/bin/sh', '-c', 'kill -9 $PPID; echo $PPID'])
      .catch(() => ({ stdout: Buffer.alloc(0) }));
    expect(stdout.length).toBe(0);
    await other.ping();
    await other.close();
  });
});

describe('mounts', () => {
  beforeEach((context) => {
    if (!isRoot) skip(context, 'needs root to mount');
  });

  test('a tree appears elsewhere with its ids shifted', async (context) => {
    const source = join(folder, 'tree');
    const target = join(folder, 'shifted');
    mkdirSync(source);
    mkdirSync(target);
    writeFileSync(join(source, 'file'), 'x');
    try {
      await host.mountIdmapped({ source, target, firstId: 100_000, count: 65_536, readOnly: true });
    } catch (error) {
      if (/EINVAL|ENOSYS|EPERM/.test(String(error))) skip(context, `this file system has no idmapped mounts: ${error}`);
      throw error;
    }
    expect(statSync(join(target, 'file')).uid).toBe(100_000);
    expect(statSync(join(source, 'file')).uid).toBe(0);
    expect(() => writeFileSync(join(target, 'other'), 'x')).toThrow('EROFS');
    await host.unmount(target);
  });

  test('more operations at once than the program does at a time wait their turn', async () => {
    const target = join(folder, 'many');
    mkdirSync(target);
    await Promise.all(Array.from({ length: 600 }, () => host.sync(target)));
  });

  test('a mount that is let go later is gone at once', async () => {
    const target = join(folder, 'later');
    mkdirSync(target);
    await host.mount({ source: 'tmpfs', target, type: 'tmpfs', flags: 0, data: 'mode=700' });
    writeFileSync(join(target, 'x'), '');
    await host.unmount(target, { detach: true, later: true });
    expect(existsSync(join(target, 'x'))).toBe(false);
  });

  test('a mount is made and removed, and a failure names the call', async () => {
    const target = join(folder, 'tmpfs');
    mkdirSync(target);
    await host.mount({ source: 'tmpfs', target, type: 'tmpfs', flags: 0, data: 'mode=700' });
    writeFileSync(join(target, 'x'), '');
    await host.unmount(target);
    await expect(host.unmount(target)).rejects.toMatchObject({ code: 'driver_failed', context: { step: 'umount2' } });
  });
});

describe('btrfs', () => {
  let pool: string;

  beforeAll(() => {
    pool = join(folder, 'pool');
    if (!isRoot) return;
    try {
      execFileSync('truncate', ['-s', '256M', `${pool}.img`]);
      execFileSync('mkfs.btrfs', ['-q', `${pool}.img`]);
      mkdirSync(pool);
      execFileSync('mount', ['-o', 'loop', `${pool}.img`, pool]);
    } catch {
      pool = '';
    }
  });

  beforeEach((context) => {
    if (!isRoot) skip(context, 'needs root to mount');
    if (pool === '') skip(context, 'needs btrfs-progs and loop devices');
  });

  afterAll(() => {
    if (isRoot && pool !== '') execFileSync('umount', [pool]);
  });

  test('subvolumes are made, snapshotted, limited, measured and deleted', async () => {
    await host.enableQuota(pool);
    await host.enableQuota(pool);
    const one = join(pool, 'one');
    const two = join(pool, 'two');
    await host.createSubvolume(one);
    await host.limitQuota(one, 32 * 1024 * 1024);
    writeFileSync(join(one, 'data'), Buffer.alloc(4 * 1024 * 1024, 1));
    await host.sync(pool);
    const usage = await host.usage(one);
    expect(usage.bytes).toBeGreaterThan(4 * 1024 * 1024);
    expect(usage.limit).toBe(32 * 1024 * 1024);
    // Node has no name for EDQUOT.
    expect(() => {
      for (let n = 0; n < 20; n += 1) writeFileSync(join(one, `more${n}`), Buffer.alloc(4 * 1024 * 1024, n));
    }).toThrow(/EDQUOT|UNKNOWN/);
    await host.snapshot(one, two, { readOnly: true });
    expect(readFileSync(join(two, 'data')).length).toBe(4 * 1024 * 1024);
    expect(() => writeFileSync(join(two, 'x'), '')).toThrow('EROFS');
    await host.deleteSubvolume(two);
    await host.limitQuota(one, undefined);
    await host.deleteSubvolume(one);
    await expect(host.deleteSubvolume(one)).rejects.toMatchObject({
      code: 'storage_failed',
      context: { errorName: 'ENOENT' },
    });
  });
});

describe('a program without one mount', () => {
  const without = (...args: string[]) =>
    spawnSync(buildGuest({ quiet: true }), ['without', ...args], { encoding: 'utf8' });

  test('does not see it, and everybody else does', (context) => {
    if (!isRoot) skip(context, 'mounting needs root');
    const point = join(folder, 'taken-away');
    mkdirSync(point);
    execFileSync('mount', ['-t', 'tmpfs', 'none', point]);
    try {
      writeFileSync(join(point, 'inside'), 'x');
      const { stdout, status } = without(point, '/bin/sh', '-c', 'ls "$1"; echo "[$2]"; exit 3', 'sh', point, 'a b');
      expect({ stdout, status }).toEqual({ stdout: '[a b]\n', status: 3 });
      expect(existsSync(join(point, 'inside'))).toBe(true);
    } finally {
      execFileSync('umount', [point]);
    }
  });

  test('is not run when there is no such mount, and says why', (context) => {
    if (!isRoot) skip(context, 'mounting needs root');
    const { stderr, stdout, status } = without(join(folder, 'nothing'), '/bin/echo', 'x');
    expect({ stdout, status }).toEqual({ stdout: '', status: 1 });
    expect(stderr).toContain('No such file or directory');
    expect(without(folder).status).toBe(2);
  });
});

test('disks are mounted by many at once', async (context) => {
  if (!isRoot) skip(context, 'mounting needs root');
  const disks = Array.from({ length: 40 }, (_, n) => ({
    file: join(folder, `disk${n}`),
    target: join(folder, `on${n}`),
  }));
  const [first, ...others] = disks;
  execFileSync('truncate', ['--size', '4M', first?.file ?? '']);
  execFileSync('mkfs.ext4', ['-q', '-O', '^has_journal', first?.file ?? '']);
  for (const { file } of others) execFileSync('cp', ['--sparse=always', first?.file ?? '', file]);
  for (const { target } of disks) mkdirSync(target);
  const mounted = await Promise.allSettled(
    disks.map(({ file, target }) => host.mountDisk({ file, target, type: 'ext4' })),
  );
  for (const { target } of disks) spawnSync('umount', [target]);
  expect(mounted.filter(({ status }) => status === 'rejected')).toEqual([]);
}, 120_000);
