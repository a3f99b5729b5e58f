import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Shelf } from '../../packages/server/src/images/shelf.ts';
import { stepTrust } from '../../packages/server/src/open-buildkit.ts';
import { makeCertificates } from '../network/certificates.ts';
import { startEngine, whyNoEngine } from '../real-engine.ts';
import { openRules } from './build-world.ts';
import { BuildkitWorld } from './buildkit-world.ts';
import { freshImages, imageOf, isRoot, removeScratch, scratchFolder, soon } from './images-folder.ts';
import { writeLayout } from './layout-writer.ts';
import { openBuildWorld } from './open-build-world.ts';
import { startRegistry } from './real-registry.ts';
import { file, tarOf } from './tar-writer.ts';

/** Debian gives every machine a name of its own on loopback; by it TLS is spoken, which loopback itself is spared. */
const name = hostname();
const hasName =
  isRoot && /^127\./.test(execFileSync('sh', ['-c', `getent ahostsv4 ${name} || :`], { encoding: 'utf8' }));
if (!hasName) test.skip('an authority of one’s own: needs root, and the name of the machine on loopback', () => {});

describe.runIf(hasName)('an authority that only this server trusts', () => {
  const { authority, of } = makeCertificates(name);
  const { cert, key } = of(name);
  /** Its second line: of the others some may begin in the same way. */
  const mark = authority.split('\n')[2] ?? '';
  let folder: string;
  let mirror: Server;
  let steps: string[];

  /** A flat archive of one package, which is made here. */
  beforeAll(async () => {
    folder = scratchFolder();
    for (const [path, text] of Object.entries({ 'ca.pem': authority, 'cert.pem': cert, 'key.pem': key }))
      writeFileSync(join(folder, path), text);
    const control =
      'Package: private-thing\nVersion: 1\nArchitecture: all\nMaintainer: us <us@example>\nDescription: ours\n';
    execFileSync(
      'sh',
      ['-ec', 'mkdir -p p/DEBIAN p/opt; cat > p/DEBIAN/control; echo found > p/opt/thing; dpkg-deb -b p thing.deb'],
      {
        cwd: folder,
        input: control,
      },
    );
    const deb = readFileSync(join(folder, 'thing.deb'));
    const [sum = ''] = execFileSync('sha256sum', [join(folder, 'thing.deb')], { encoding: 'utf8' }).split(' ');
    const index = `${control}Filename: ./thing.deb\nSize: ${deb.length}\nSHA256: ${sum}\n`;
    mirror = createServer({ cert, key }, ({ url }, response) => {
      if (url?.endsWith('/Packages')) return response.end(index);
      return url?.endsWith('/thing.deb') ? response.end(deb) : response.writeHead(404).end();
    });
    await new Promise<void>((listening) => mirror.listen(0, '127.0.0.1', listening));
    const source = `deb [trusted=yes] https://${name}:${(mirror.address() as AddressInfo).port}/ ./`;
    steps = [
      `rm -rf /etc/apt/sources.list*; echo '${source}' > /etc/apt/sources.list; apt-get update; apt-get install -y private-thing; cat /opt/thing`,
    ];
  }, 60_000);
  afterAll(() => {
    mirror?.close();
    removeScratch();
  });

  /** Whether any file of these layers has the certificate in it. */
  const holds = (layers: readonly string[]) =>
    execFileSync('sh', ['-c', 'grep -rlF -- "$0" "$@" || :', mark, ...layers], { encoding: 'utf8' });

  test('lets an image be published, listed and pulled over its TLS', async () => {
    const tls = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    const registry = await startRegistry(folder, { tls });
    const agent = new Agent({ secureContext: createSecureContext({ ca: [authority] }) });
    try {
      const host = registry.host.replace('127.0.0.1', name);
      const layout = writeLayout(join(folder, 'layout'), [{ tar: tarOf([file('a', 'x'.repeat(300_000))]) }]);
      const { images } = freshImages({ agent });
      const { digest } = await images.resolve(imageOf(layout), { signal: soon() });
      const shelf = new Shelf(images);
      const target = images.access.reference(`${host}/ours:one`);
      await shelf.publish(digest, target, {}, { signal: soon(), progress() {} });
      const tags = await (await shelf.repository(target)).tags(10, undefined, soon());
      expect(tags).toMatchObject({ tags: ['one'] });
      const pulled = await freshImages({ agent }).images.resolve(imageOf(`${host}/ours:one`), { signal: soon() });
      expect(readFileSync(join(pulled.layers[0] ?? '', 'a'), 'utf8')).toHaveLength(300_000);
      const stranger = freshImages({ agent: new Agent() }).images;
      await expect(stranger.resolve(imageOf(`${host}/ours:one`), { signal: soon() })).rejects.toMatchObject({
        code: 'registry_failed',
        hint: expect.stringContaining('--extra-ca'),
      });
    } finally {
      agent.destroy();
      await registry.stop();
    }
  }, 120_000);

  test('lets a native build fetch over its TLS, and is in nothing that it makes', async () => {
    const world = await openBuildWorld({ extraCa: join(folder, 'ca.pem') });
    try {
      const { image } = await world.build(world.plan(steps), { rules: openRules });
      expect(readFileSync(join(image.layers.at(-1) ?? '', 'opt/thing'), 'utf8')).toBe('found\n');
      expect(holds(image.layers.slice(1))).toBe('');
      expect(JSON.stringify(image.config)).not.toMatch(/CERT|caisson/);
    } finally {
      await world.close();
    }
    const other = await openBuildWorld();
    try {
      await expect(other.build(other.plan(steps), { rules: openRules })).rejects.toMatchObject({
        context: { step: 'setup-s0', lastLines: expect.arrayContaining([expect.stringMatching(/certificate/i)]) },
      });
    } finally {
      await other.close();
    }
  }, 300_000);

  const why = whyNoEngine('docker');
  test.skipIf(why !== undefined)(
    'lets a build with BuildKit do the same',
    async () => {
      const engine = await startEngine('docker');
      const world = await BuildkitWorld.open(engine.host, ['127.0.0.0/8']);
      try {
        world.trust = stepTrust(authority);
        const { image } = await world.build(world.plan(steps), { rules: openRules });
        expect(readFileSync(join(image.layers.at(-1) ?? '', 'opt/thing'), 'utf8')).toBe('found\n');
        expect(holds(image.layers.slice(1))).toBe('');
      } finally {
        await world.close();
        await engine.close();
      }
    },
    300_000,
  );
});
