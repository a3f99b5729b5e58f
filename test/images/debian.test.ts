import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { whyNoDebian } from '../../packages/server/src/images/debian/why-no-debian.ts';
import { unmountBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import { sharedImages, testDebianBase } from '../debian-base.ts';
import { contents, freshImages, nothing, removeScratch, scratchFolder, soon } from './images-folder.ts';
import { killed, processesWith, startResolver } from './resolver-process.ts';

const host = new HostClient(buildGuest({ quiet: true }));
afterAll(() => host.close());

const missing = await whyNoDebian();
if (missing) test.skip(`debian: ${missing.why}: ${missing.fix}`, () => {});

describe.runIf(missing === undefined)('a Debian base', () => {
  afterAll(removeScratch);

  test('is a Debian that runs, with nothing of this machine in it', { timeout: 180_000 }, async () => {
    const image = await testDebianBase();
    expect(image).toMatchObject({ name: 'debian bookworm', layers: [expect.stringContaining('/layers/sha256-')] });
    const [layer = ''] = image.layers;
    expect(readFileSync(join(layer, 'etc/hostname'), 'utf8')).toBe('sandbox\n');
    expect(readFileSync(join(layer, 'etc/resolv.conf'), 'utf8')).toBe('');
    expect(readdirSync(join(layer, 'etc/apt/apt.conf.d'))).not.toContain('99mmdebstrap');
    expect(lstatSync(join(layer, 'usr/bin/su')).mode & 0o7777).toBe(0o4755);
    const folder = scratchFolder();
    const storage = new OverlayStorage({ pool: join(folder, 'pool'), mounts: join(folder, 'mounts'), host });
    try {
      const rootfs = await storage.prepare({ sandbox: newId('sandbox'), image }, soon());
      const say =
        'cat /etc/os-release; dpkg -l ca-certificates apt; getent hosts localhost; ls /etc/ssl/certs/ca-certificates.crt';
      const said = execFileSync('chroot', [rootfs.path, 'sh', '-c', say], { encoding: 'utf8' });
      expect(said).toMatch(
        /VERSION_CODENAME=bookworm[\s\S]*ca-certificates[\s\S]*localhost[\s\S]*ca-certificates\.crt/,
      );
    } finally {
      await unmountBelow(host, folder);
    }
  });

  test('is there at once the second time', { timeout: 180_000 }, async () => {
    const { digest } = await testDebianBase();
    const lines: string[] = [];
    const again = await sharedImages().resolve(
      { family: 'debian', mode: 'require', release: '12' },
      { signal: AbortSignal.timeout(2_000), progress: (line) => lines.push(line) },
    );
    expect(again.digest).toBe(digest);
    expect(lines).toEqual([]);
    const auto = await sharedImages().resolve({ family: 'auto', mode: 'prefer' }, { signal: soon() });
    expect(auto.digest).toBe(digest);
  });

  test('whose bootstrap is killed leaves nothing running and nothing kept', { timeout: 120_000 }, async () => {
    const { images, folder } = freshImages();
    mkdirSync(folder, { recursive: true });
    const child = startResolver(scratchFolder(), folder, { family: 'debian', mode: 'require' });
    const seen: string[] = [];
    for await (const line of child.lines) {
      seen.push(line);
      if (line.includes('downloading packages')) break;
    }
    expect(seen[0]).toMatch(/bootstrapping Debian bookworm/);
    expect(processesWith(folder)).not.toEqual([]);
    await killed(child);
    await vi.waitUntil(() => processesWith(folder).length === 0, { timeout: 30_000 });
    expect(contents(folder).layers).toEqual([]);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(folder);
    expect(await images.recover(soon())).not.toEqual([]);
    expect(contents(folder)).toEqual(nothing);
  });

  test('whose bootstrap is aborted leaves nothing', { timeout: 120_000 }, async () => {
    const { images, folder } = freshImages();
    const controller = new AbortController();
    const progress = (line: string) => line.includes('apt-get update') && controller.abort(new Error('enough'));
    await expect(
      images.resolve({ family: 'debian', mode: 'require' }, { signal: controller.signal, progress }),
    ).rejects.toThrow('enough');
    expect(contents(folder)).toEqual(nothing);
    expect(processesWith(folder)).toEqual([]);
  });

  test('whose packages cannot be fetched says why; `auto` takes the host then', { timeout: 120_000 }, async () => {
    const { images, folder } = freshImages();
    vi.stubEnv('http_proxy', 'http://127.0.0.1:9');
    try {
      await expect(images.resolve({ family: 'debian', mode: 'require' }, { signal: soon() })).rejects.toMatchObject({
        code: 'build_failed',
        context: { step: 'bootstrap', words: expect.arrayContaining([expect.stringMatching(/127\.0\.0\.1/)]) },
      });
      expect(contents(folder)).toEqual(nothing);
      const auto = await images.resolve({ family: 'auto', mode: 'prefer' }, { signal: soon() });
      expect(auto).toMatchObject({
        name: 'host',
        notices: [expect.stringMatching(/could not be bootstrapped/), expect.any(String)],
      });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('that cannot be made says so before anything begins', async () => {
    const { images } = freshImages();
    for (const os of [{ family: 'debian', release: 'potato' }, { family: 'fedora' }] as const)
      await expect(images.resolve({ mode: 'require', ...os }, { signal: soon() })).rejects.toMatchObject({
        code: 'unsupported-os',
        hint: expect.stringMatching(/family: image, reference/),
      });
  });
});
