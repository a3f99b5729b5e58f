import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { hostBase } from '../../packages/server/src/images/host/host-base.ts';
import { freshImages, isRoot, removeScratch, scratchFolder, soon } from './images-folder.ts';

const os = { family: 'host', mode: 'require' } as const;

/** Mounts the binds read-only over the skeleton in a namespace of its own, as a driver does, and runs a command in it. */
function runIn(layer: string, binds: readonly { source: string; target: string }[], command: string): string {
  const mounts = binds.map(({ source, target }) => `mount --bind -o ro "${source}" "${layer}${target}"`);
  const script = [...mounts, `exec chroot "${layer}" /bin/sh -c '${command}'`].join(' && ');
  return execFileSync('unshare', ['--mount', 'sh', '-c', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

if (!isRoot) test.skip('the host as a base: needs root', () => {});

describe.runIf(isRoot)('the host as a base', () => {
  afterAll(removeScratch);

  test("runs the machine's programs, and shows no home and no secret of it", async () => {
    const { images } = freshImages();
    const { layers, binds = [], name, notices } = await images.resolve(os, { signal: soon() });
    expect([name, notices.length]).toEqual(['host', 1]);
    const [layer = ''] = layers;
    const seen = runIn(
      layer,
      binds,
      'id -un; ls -A /root /home; find /etc -type f; awk "BEGIN { print 6 * 7 }"; exit 0',
    );
    expect(seen).toMatch(/^root\n/);
    expect(seen).toMatch(/\n42\n$/);
    expect(seen).toMatch(/\/root:\n\n?/);
    expect(seen).not.toMatch(/shadow|sudoers|ssh_host|\/private\/|machine-id|\.netrc|fstab/);
    expect(readFileSync(join(layer, 'etc/passwd'), 'utf8')).not.toBe(readFileSync('/etc/passwd', 'utf8'));
    expect(lstatSync(join(layer, 'tmp')).mode & 0o7777).toBe(0o1777);
    expect(readdirSync(layer)).toEqual(
      expect.arrayContaining(['root', 'home', 'tmp', 'usr', 'var', 'workspace', 'proc']),
    );
  });

  test('has the same digest as long as nothing of it changes', async () => {
    const [one, two] = [freshImages(), freshImages()];
    const first = await one.images.resolve(os, { signal: soon() });
    expect((await two.images.resolve(os, { signal: soon() })).digest).toBe(first.digest);
    expect((await one.images.resolve(os, { signal: soon() })).layers).toEqual(first.layers);
  });

  test('shows what is on the list and nothing else, also of a machine without a merged /usr', async () => {
    const root = scratchFolder();
    for (const path of [
      'usr/lib',
      'bin',
      'lib',
      'etc/ssl/certs',
      'etc/ssl/private',
      'etc/alternatives',
      'opt',
      'home/me',
    ])
      mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, 'etc/services'), 'ssh 22/tcp\n', { mode: 0o600 });
    writeFileSync(join(root, 'etc/shadow'), 'secret');
    symlinkSync('/etc', join(root, 'sbin'));
    symlinkSync('/etc/shadow', join(root, 'etc/localtime'));
    const { binds, skeleton } = await hostBase(root);
    expect(binds.map(({ target }) => target)).toEqual(['/usr', '/bin', '/lib', '/etc/alternatives', '/etc/ssl/certs']);
    expect(skeleton.map(({ path }) => path)).not.toEqual(expect.arrayContaining(['sbin']));
    expect(JSON.stringify(skeleton)).not.toMatch(/shadow|private|home\/me/);
  });

  test('each way is probed, with what would make it usable', async () => {
    const { images } = freshImages({ guestProgram: '/none/caisson-guest' });
    const checks = await images.probe(soon());
    expect(checks.map(({ name }) => name)).toEqual([
      'images: unpack',
      'images: registry',
      'images: debian',
      'images: host',
    ]);
    expect(checks[0]).toMatchObject({ ok: false, fix: 'npm run build' });
    await expect(images.resolve(os, { signal: soon() })).rejects.toMatchObject({ code: 'storage_failed' });
  });
});
