import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Authority } from '../../packages/server/src/network/secrets/authority.ts';
import { bringTrust } from '../../packages/server/src/network/secrets/trust.ts';
import { Vault } from '../../packages/server/src/network/secrets/vault.ts';
import { slowness } from '../slowness.ts';
import { type AttackWorld, type Confined, never } from './sandbox-world.ts';

const bundle = '/etc/ssl/certs/ca-certificates.crt';
const roots = '/dev/caisson-roots.pem';

/** What is known of the files of a sandbox from outside, where that is anything. */
export interface TrustOptions {
  /** Whether a path is in the files that snapshots take. */
  isInFiles?(world: AttackWorld, sandbox: Confined, path: string): boolean;
}

export function describeTrust(name: string, open: () => Promise<AttackWorld>, { isInFiles }: TrustOptions = {}): void {
  describe(`trust inside, on ${name}`, () => {
    let world: AttackWorld;
    let authority: Authority;
    let sandbox: Confined;
    const trust = async () => bringTrust(sandbox.guest, await authority.certificate(), never);
    const count = async () => Number((await sandbox.sh(`grep -c BEGIN ${roots}`)).said);

    beforeAll(async () => {
      world = await open();
      // The threads of runsc itself count, and at the limit it ends.
      sandbox = await world.launch({ pids: 1024 });
      const vault = new Vault({ kind: 'text', text: randomBytes(32).toString('base64'), name: 'k' });
      authority = new Authority(mkdtempSync(join(world.folder, 'authority-')), vault);
    }, 60_000 * slowness);
    afterAll(() => world.close(), 60_000 * slowness);
    beforeEach(async () => {
      await sandbox.sh(`rm -rf /etc/ssl ${roots}; mkdir -p /etc/ssl/certs`);
    });

    test('a user inside trusts a host that the authority vouches for, and nothing of it is in the filesystem', async () => {
      const { guest, sh } = sandbox;
      await trust();
      await guest.files.write('/tmp/leaf.pem', (await authority.leaf('api.example.com')).cert);
      const verify = 'openssl verify -x509_strict -verify_hostname api.example.com -no-CApath -CAfile';
      for (const file of ['/dev/caisson-ca.pem', roots]) {
        expect(await sh(`${verify} ${file} /tmp/leaf.pem`, 'user')).toEqual({ code: 0, said: '/tmp/leaf.pem: OK\n' });
        expect((await sh(`echo x >> ${file}`, 'user')).code).not.toBe(0);
        if (isInFiles) expect(isInFiles(world, sandbox, file)).toBe(false);
      }
      expect(await count()).toBeGreaterThan(50);
    });

    test('the roots of the image stay trusted, and it may be done again', async () => {
      const own = '-----BEGIN CERTIFICATE-----\nof-the-image\n-----END CERTIFICATE-----\n';
      await sandbox.guest.files.write(bundle, own, { user: 'root' });
      await trust();
      await trust();
      expect((await sandbox.sh(`head -2 ${roots} | tail -1`)).said).toBe('of-the-image\n');
      expect(await count()).toBe(2);
    });

    test('a large bundle of an image has room, also while it is replaced', async () => {
      const lines = `${'x'.repeat(63)}\n`.repeat(12_000);
      await sandbox.guest.files.write(bundle, `-----BEGIN CERTIFICATE-----\n${lines}`, { user: 'root' });
      await trust();
      await trust();
      expect(Number((await sandbox.sh(`wc -c < ${roots}`)).said)).toBeGreaterThan(768_000);
    });

    test.each([
      ['a device without end', 'ln -s /dev/zero $f'],
      ['a pipe that nobody writes to', 'mkfifo $f'],
      ['a link to itself', 'ln -s $f $f'],
      ['a folder', 'mkdir $f'],
      ['a file that is too large', 'head -c 2000000 /dev/zero > $f'],
      ['something else', 'echo no certificates here > $f'],
      ['no folder around it', 'rm -rf /etc/ssl; touch /etc/ssl'],
    ])('an image with %s in their place gets the usual roots', async (_, spoil) => {
      expect(await sandbox.sh(`f=${bundle}; ${spoil}`)).toEqual({ code: 0, said: '' });
      await trust();
      expect(await count()).toBeGreaterThan(50);
    });
  });
}
