import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { unmountBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import {
  contents,
  freshImages,
  imageOf,
  isRoot,
  nothing,
  removeScratch,
  scratchFolder,
  soon,
} from './images-folder.ts';
import { writeLayout } from './layout-writer.ts';
import { account, type RealRegistry, startRegistry } from './real-registry.ts';
import { describeTree, makeSampleImage, unpackWithUmoci } from './sample-image.ts';
import { file, tarOf } from './tar-writer.ts';
import { startTroubled, type Trouble } from './troubled-registry.ts';

const host = new HostClient(buildGuest({ quiet: true }));
afterAll(() => host.close());

if (!isRoot) test.skip('images of a registry: needs root', () => {});

describe.runIf(isRoot)('images of a registry', () => {
  let registry: RealRegistry;
  let layout: string;

  beforeAll(async () => {
    const folder = scratchFolder();
    layout = makeSampleImage(folder);
    registry = await startRegistry(folder);
    registry.push(`oci:${layout}:sample`, 'sample:one');
    registry.push(`oci:${layout}:sample`, 'sample:docker', ['--format', 'v2s2']);
    registry.push(`oci:${layout}:sample`, 'sample:zstd', ['--dest-compress-format', 'zstd']);
    // A blob of a size that travels in many pieces.
    const large = writeLayout(join(folder, 'large'), [
      { tar: tarOf([file('large', Array.from({ length: 300_000 }, (_, n) => (n * 7919) % 99_991).join('\n'))]) },
    ]);
    registry.push(large, 'large:one');
  }, 120_000);

  afterAll(async () => {
    await registry?.stop();
    removeScratch();
  });

  /** Every trouble that the registry makes, for one pull. */
  async function pullThrough(trouble: Trouble, name: string, options = {}) {
    const troubled = await startTroubled(registry.host, trouble);
    const { images, folder } = freshImages();
    const pull = images.resolve(imageOf(`${troubled.host}/${name}`), { signal: soon(), ...options });
    const image = await pull.catch((error: unknown) => error as Error);
    await troubled.stop();
    return { image, asked: troubled.asked, folder };
  }

  test.each(['one', 'docker', 'zstd'])(
    'the layers of sample:%s make the tree that umoci makes of them',
    async (tag) => {
      const { images } = freshImages();
      const lines: string[] = [];
      const image = await images.resolve(imageOf(`${registry.host}/sample:${tag}`), {
        signal: soon(),
        progress: (line) => lines.push(line),
      });
      expect(image).toMatchObject({
        name: `${registry.host}/sample:${tag}`,
        config: { env: { GREETING: 'hello=you' }, workingDirectory: '/etc', user: '1000:1000' },
      });
      expect(image.pinned).toMatch(/^127\.0\.0\.1:\d+\/sample@sha256:[0-9a-f]{64}$/);
      expect(lines[0]).toMatch(/^3 of 3 layers to fetch/);
      const folder = scratchFolder();
      const storage = new OverlayStorage({ pool: join(folder, 'pool'), mounts: join(folder, 'mounts'), host });
      try {
        const rootfs = await storage.prepare({ sandbox: newId('sandbox'), image }, soon());
        expect(describeTree(rootfs.path)).toEqual(describeTree(unpackWithUmoci(layout, join(folder, 'bundle'))));
      } finally {
        await unmountBelow(host, folder);
      }
    },
  );

  test('the same layers are fetched once, however often and at the same time they are asked for', async () => {
    const asked = await startTroubled(registry.host, (_, __, pass) => pass());
    const { images } = freshImages();
    const resolve = () => images.resolve(imageOf(`${asked.host}/sample:one`), { signal: soon() });
    const found = await Promise.all([resolve(), resolve(), resolve()]);
    found.push(await resolve());
    await asked.stop();
    expect(new Set(found.map(({ digest }) => digest)).size).toBe(1);
    const layers = asked.asked.filter(({ path }) => path.includes('/blobs/')).map(({ path }) => path);
    // Three layers once, the config with each of the two times that work was done.
    expect(layers).toHaveLength(3 + 2);
  });

  test('a pinned image that is kept serves while its registry is away; a tag does not', async () => {
    const front = await startTroubled(registry.host, (_, __, pass) => pass());
    const { images } = freshImages();
    const { pinned = '', digest } = await images.resolve(imageOf(`${front.host}/sample:one`), { signal: soon() });
    await front.stop();
    const kept = await images.resolve(imageOf(pinned), { signal: soon() });
    expect(kept.digest).toBe(digest);
    expect(kept.notices[0]).toMatch(/cannot be reached/);
    // Whoever knows a digest gets no image by naming a host that answers nobody.
    for (const elsewhere of [`${front.host}/other@${digest}`, `localhost:1/sample@${digest}`])
      await expect(images.resolve(imageOf(elsewhere), { signal: soon() })).rejects.toMatchObject({
        code: 'registry_failed',
      });
    await expect(images.resolve(imageOf(`${front.host}/sample:one`), { signal: soon() })).rejects.toMatchObject({
      code: 'registry_failed',
    });
  });

  test('a download that breaks off goes on where it was', async () => {
    let breaks = 2;
    const { image, asked } = await pullThrough((incoming, response, pass) => {
      if (!incoming.url?.includes('/blobs/') || breaks === 0) return pass();
      const write = response.write.bind(response);
      let sent = 0;
      response.write = ((chunk: Buffer) => {
        sent += chunk.length;
        // The config is smaller than this; the layer is not.
        if (sent > 100_000 && breaks > 0) {
          breaks--;
          response.destroy();
          return false;
        }
        return write(chunk);
      }) as typeof response.write;
      pass();
    }, 'large:one');
    expect(image).toMatchObject({ layers: [expect.any(String)] });
    expect(breaks).toBe(0);
    expect(asked.filter(({ range }) => range !== undefined).length).toBeGreaterThan(0);
  });

  test('a registry that is busy is asked again', async () => {
    let refusals = 2;
    const { image } = await pullThrough((_, response, pass) => {
      if (refusals-- > 0) response.writeHead(503, { 'retry-after': '0' }).end();
      else pass();
    }, 'sample:one');
    expect(image).toMatchObject({ config: { workingDirectory: '/etc' } });
  });

  test('a password opens a registry that asks for one, and nothing else does', async () => {
    const folder = scratchFolder();
    const closed = await startRegistry(folder, { password: true });
    try {
      closed.push(`oci:${layout}:sample`, 'private/sample:one');
      const os = imageOf(`${closed.host}/private/sample:one`);
      const { images, folder: kept } = freshImages();
      for (const credentials of [{}, { [closed.host]: { ...account, password: 'wrong' } }]) {
        await expect(images.resolve(os, { signal: soon(), credentials })).rejects.toMatchObject({
          code: 'registry_failed',
          message: expect.stringMatching(/refuses private\/sample/),
        });
      }
      expect(contents(kept)).toEqual(nothing);
      const credentials = { [closed.host]: account };
      expect(await images.resolve(os, { signal: soon(), credentials })).toMatchObject({ layers: { length: 3 } });
      // The kept image is no way around the registry's refusal.
      await expect(images.resolve(os, { signal: soon() })).rejects.toMatchObject({ code: 'registry_failed' });
      const file = join(folder, 'config.json');
      const auth = Buffer.from(`${account.username}:${account.password}`).toString('base64');
      writeFileSync(file, JSON.stringify({ auths: { [closed.host]: { auth } } }));
      const { images: others } = freshImages({ credentialsFile: file });
      expect(await others.resolve(os, { signal: soon() })).toMatchObject({ layers: { length: 3 } });
    } finally {
      await closed.stop();
    }
  }, 120_000);

  test('a token is fetched with the password, and only the token goes to the registry', async () => {
    const tokens: (string | undefined)[] = [];
    const trouble: Trouble = (incoming, response, pass) => {
      if (incoming.url?.startsWith('/token')) {
        tokens.push(incoming.headers.authorization);
        return response.end(JSON.stringify({ token: 'ticket' }));
      }
      if (incoming.headers.authorization === 'Bearer ticket') return pass();
      const realm = `http://${incoming.headers.host}/token`;
      response.writeHead(401, {
        'www-authenticate': `Bearer realm="${realm}",service="us",scope="repository:sample:pull"`,
      });
      return response.end();
    };
    const troubled = await startTroubled(registry.host, trouble);
    const { images } = freshImages();
    const image = await images.resolve(imageOf(`${troubled.host}/sample:one`), {
      signal: soon(),
      credentials: { [troubled.host]: account },
    });
    await troubled.stop();
    expect(image.layers).toHaveLength(3);
    expect(tokens).toEqual([`Basic ${Buffer.from('tester:open-sesame').toString('base64')}`]);
    const secrets = troubled.asked
      .filter(({ path }) => path.startsWith('/v2/'))
      .map(({ authorization }) => authorization);
    expect(new Set(secrets)).toEqual(new Set([undefined, 'Bearer ticket']));
  });

  test('a redirect is followed without the credentials', async () => {
    const store = await startTroubled(registry.host, (_, __, pass) => pass());
    const front = await startTroubled(registry.host, (incoming, response, pass) => {
      if (incoming.headers.authorization === undefined)
        return response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      if (!incoming.url?.includes('/blobs/')) return pass();
      return response.writeHead(307, { location: `http://${store.host}${incoming.url}` }).end();
    });
    const { images } = freshImages();
    const credentials = { [front.host]: account };
    const image = await images.resolve(imageOf(`${front.host}/sample:one`), { signal: soon(), credentials });
    await Promise.all([store.stop(), front.stop()]);
    expect(image.layers).toHaveLength(3);
    expect(store.asked).toHaveLength(4);
    expect(store.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  test('redirects come to an end', async () => {
    const { image, folder } = await pullThrough(
      (incoming, response) => response.writeHead(302, { location: incoming.url ?? '' }).end(),
      'sample:one',
    );
    expect(image).toMatchObject({ code: 'registry_failed', message: expect.stringMatching(/more than 5 times/) });
    expect(contents(folder)).toEqual(nothing);
  });

  test('what is not there is not found', async () => {
    const { images } = freshImages();
    for (const name of ['sample:none', 'none:one', `sample@sha256:${'0'.repeat(64)}`])
      await expect(images.resolve(imageOf(`${registry.host}/${name}`), { signal: soon() })).rejects.toMatchObject({
        code: 'image_not_found',
      });
  });

  test('a server asks only the registries that it was given', async () => {
    const { images } = freshImages({ registries: ['registry.example'] });
    await expect(images.resolve(imageOf(`${registry.host}/sample:one`), { signal: soon() })).rejects.toMatchObject({
      code: 'registry_failed',
      message: expect.stringMatching(/not one that this server asks/),
    });
  });

  test('a manifest that is not what its digest says is refused', async () => {
    const { images } = freshImages();
    const { pinned = '' } = await images.resolve(imageOf(`${registry.host}/sample:one`), { signal: soon() });
    const { image, folder } = await pullThrough(
      (incoming, response, pass) => {
        if (incoming.url?.includes('/manifests/')) response.end('{"schemaVersion":2,"manifests":[]}');
        else pass();
      },
      pinned.slice(pinned.indexOf('/') + 1),
    );
    expect(image).toMatchObject({ code: 'image_invalid', message: expect.stringMatching(/has the digest/) });
    expect(contents(folder)).toEqual(nothing);
  });

  test('an endless manifest is not read to its end', async () => {
    const { image } = await pullThrough((_, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(65_536, ' ')));
        response.once('drain', more);
      };
      more();
    }, 'sample:one');
    expect(image).toMatchObject({ code: 'image_too_large' });
  });
});
