import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseReference, type RegistryReference } from '../../packages/server/src/images/reference.ts';
import type { RegistryCredentials } from '../../packages/server/src/images/registry/credentials.ts';
import { Shelf } from '../../packages/server/src/images/shelf.ts';
import { contents, freshImages, imageOf, isRoot, removeScratch, scratchFolder, soon } from './images-folder.ts';
import { writeLayout } from './layout-writer.ts';
import { account, type RealRegistry, startRegistry } from './real-registry.ts';
import { describeTree, makeSampleImage, unpackWithUmoci } from './sample-image.ts';
import { file, tarOf } from './tar-writer.ts';
import { startTroubled, type Trouble } from './troubled-registry.ts';
import { startUploads, type UploadManners } from './upload-registry.ts';

if (!isRoot) test.skip('publishing images: needs root', () => {});

describe.runIf(isRoot)('publishing images', () => {
  let registry: RealRegistry;
  let layout: string;
  let shelf: Shelf;
  let folder: string;
  let sample: string;
  let large: string;

  beforeAll(async () => {
    const scratch = scratchFolder();
    layout = makeSampleImage(scratch);
    registry = await startRegistry(scratch);
    const fresh = freshImages();
    folder = fresh.folder;
    shelf = new Shelf(fresh.images);
    sample = (await fresh.images.resolve(imageOf(`oci:${layout}:sample`), { signal: soon() })).digest;
    // What gzip leaves of it travels in many pieces.
    const numbers = Array.from({ length: 300_000 }, (_, n) => (n * 7919) % 99_991).join('\n');
    const tars = writeLayout(join(scratch, 'large'), [{ tar: tarOf([file('large', numbers)]) }]);
    large = (await fresh.images.resolve(imageOf(tars), { signal: soon() })).digest;
  }, 120_000);
  afterAll(async () => {
    await registry?.stop();
    removeScratch();
  });

  const at = (text: string) => parseReference(text) as RegistryReference;
  const publish = (
    image: string,
    to: string,
    { credentials = {} as RegistryCredentials, progress = (_: string) => {} } = {},
  ) => shelf.publish(image, at(to), credentials, { signal: soon(), progress });

  async function publishTo(manners: UploadManners, image = large) {
    const uploads = await startUploads(manners);
    const published = await publish(image, `${uploads.host}/name:one`).catch((error: Error) => error);
    await uploads.stop();
    return { published, uploads };
  }

  async function publishThrough(trouble: Trouble, image: string, name: string, credentials = {}) {
    const troubled = await startTroubled(registry.host, trouble);
    const given = { [troubled.host]: credentials } as RegistryCredentials;
    const options = Object.keys(credentials).length === 0 ? {} : { credentials: given };
    const published = await publish(image, `${troubled.host}/${name}`, options).catch((error: Error) => error);
    await troubled.stop();
    return { published, asked: troubled.asked };
  }

  test('skopeo copies what was published, and umoci makes the same tree of it', async () => {
    const lines: string[] = [];
    const published = await publish(sample, `${registry.host}/team/sample:one`, {
      progress: (line) => lines.push(line),
    });
    expect(published).toMatchObject({
      reference: `${registry.host}/team/sample:one`,
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      layers: { there: 0, mounted: 0, sent: 3 },
    });
    expect(lines.filter((line) => line.startsWith('layer '))).toHaveLength(3);
    const scratch = scratchFolder();
    const copy = join(scratch, 'copy');
    const from = `docker://${registry.host}/team/sample@${published.digest}`;
    const skopeo = ['--insecure-policy', 'copy', '--quiet', '--src-tls-verify=false', from, `oci:${copy}:sample`];
    execFileSync('skopeo', skopeo, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ours = describeTree(unpackWithUmoci(copy, join(scratch, 'ours')));
    expect(ours).toEqual(describeTree(unpackWithUmoci(layout, join(scratch, 'theirs'))));
    const blob = (digest: string) =>
      JSON.parse(readFileSync(join(copy, 'blobs', digest.replace(':', '/')), 'utf8')) as unknown;
    const manifest = blob(published.digest) as { config: { digest: string }; layers: { mediaType: string }[] };
    expect(new Set(manifest.layers.map(({ mediaType }) => mediaType))).toEqual(
      new Set(['application/vnd.oci.image.layer.v1.tar+gzip']),
    );
    expect(blob(manifest.config.digest)).toMatchObject({
      os: 'linux',
      config: {
        Env: ['GREETING=hello=you'],
        WorkingDir: '/etc',
        User: '1000:1000',
        Labels: { 'dev.caisson.image': sample },
      },
      history: { length: 3 },
    });
  });

  test('the same image again costs one question', async () => {
    await publish(sample, `${registry.host}/again:one`);
    const { published, asked } = await publishThrough((_, __, pass) => pass(), sample, 'again:one');
    expect(published).toMatchObject({ layers: { there: 3, sent: 0 }, sentBytes: 0 });
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(['HEAD /v2/again/manifests/one']);
  });

  test('another tag sends no layer, and another repository takes them over', async () => {
    await publish(sample, `${registry.host}/first:one`);
    expect(await publish(sample, `${registry.host}/first:two`)).toMatchObject({ layers: { there: 3, sent: 0 } });
    expect(await publish(sample, `${registry.host}/second:one`)).toMatchObject({
      layers: { there: 0, mounted: 3, sent: 0 },
    });
  });

  test('an upload that is cut goes on where the registry says that it is', async () => {
    const { published, uploads } = await publishTo({ cutsAt: [100_000, 200_000] });
    expect(published).toMatchObject({ layers: { sent: 1 } });
    const ranges = uploads.asked.filter((line) => line.startsWith('PUT ') && line.includes('-'));
    expect(ranges.map((line) => line.split(/[ -]/)[1])).toEqual(['100000', '200000']);
    expect(uploads.blobs.size).toBe(2);
  });

  test('an upload that the registry has forgotten begins again', async () => {
    const { published, uploads } = await publishTo({ cutsAt: [100_000], forgets: true });
    expect(published).toMatchObject({ layers: { sent: 1 } });
    expect(uploads.asked.filter((line) => line.startsWith('POST'))).toHaveLength(3);
    let cuts = 1;
    const real = await publishThrough(
      (incoming, response, pass) => {
        if (incoming.method === 'PUT' && incoming.url?.includes('/blobs/') && cuts-- > 0)
          incoming.once('data', () => response.destroy());
        pass();
      },
      large,
      'cut:one',
    );
    expect(real.published).toMatchObject({ layers: { sent: 1 } });
  });

  test('pieces that are too large for a proxy are made smaller', async () => {
    const { published, uploads } = await publishTo({ mostBytes: 400_000 });
    expect(published).toMatchObject({ layers: { sent: 1 } });
    expect(uploads.blobs.size).toBe(2);
    const { published: refused } = await publishTo({ mostBytes: 100 });
    expect(refused).toMatchObject({ code: 'registry_failed', message: expect.stringMatching(/small pieces/) });
    expect(contents(folder).making).toEqual([]);
  });

  test('a registry that cuts every upload is told of, and nothing is left behind', async () => {
    const { published } = await publishTo({ cutsAt: Array.from({ length: 20 }, () => 50_000), forgets: true });
    expect(published).toMatchObject({
      code: 'registry_failed',
      message: expect.stringMatching(/^the upload of sha256:\w+ broke off after 0 of \d+ bytes/),
    });
    expect(contents(folder).making).toEqual([]);
  });

  test('a registry that took something else for it is not believed', async () => {
    const { published } = await publishTo({ tells: `sha256:${'0'.repeat(64)}` });
    expect(published).toMatchObject({ code: 'registry_failed', message: expect.stringMatching(/ took sha256/) });
    expect(contents(folder).making).toEqual([]);
  });

  test.each([205, 299, 404, 503])(
    'a registry that answers %d where it should not is one clear error',
    async (status) => {
      const { published } = await publishThrough(
        (incoming, response, pass) => {
          if (incoming.method !== 'PUT') return pass();
          incoming.resume();
          return incoming.on('end', () => response.writeHead(status, { 'retry-after': '0', range: 'nonsense' }).end());
        },
        sample,
        `odd-${status}:one`,
      );
      // Nothing but the digest in its answer tells that it has taken it.
      expect(published).toMatchObject(status < 300 ? { layers: {} } : { code: 'registry_failed' });
      expect(contents(folder).making).toEqual([]);
    },
  );

  test('a registry that is away is one clear error', async () => {
    const away = await startTroubled(registry.host, (_, __, pass) => pass());
    await away.stop();
    await expect(publish(sample, `${away.host}/name:one`)).rejects.toMatchObject({
      code: 'registry_failed',
      message: expect.stringMatching(/cannot be reached/),
    });
  });

  test('a token for pushing is asked for with the password', async () => {
    const scopes: string[] = [];
    const { published, asked } = await publishThrough(
      (incoming, response, pass) => {
        if (incoming.url?.startsWith('/token')) {
          scopes.push(...new URL(incoming.url, 'http://x').searchParams.getAll('scope'));
          return response.end(JSON.stringify({ access_token: 'ticket' }));
        }
        if (incoming.headers.authorization === 'Bearer ticket') return pass();
        const realm = `http://${incoming.headers.host}/token`;
        const scope = 'repository:bearer:pull';
        response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="us",scope="${scope}"` });
        incoming.resume();
        return response.end();
      },
      sample,
      'bearer:one',
      account,
    );
    expect(published).toMatchObject({ layers: { sent: 3 } });
    expect(scopes).toContain('repository:bearer:pull,push');
    const secrets = new Set(asked.map(({ authorization }) => authorization));
    const basic = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`;
    expect(secrets).toEqual(new Set([undefined, basic, 'Bearer ticket']));
  });

  test('a registry with a password takes an image from nobody without it', async () => {
    const closed = await startRegistry(scratchFolder(), { password: true });
    try {
      await expect(publish(sample, `${closed.host}/private:one`)).rejects.toMatchObject({
        code: 'registry_failed',
        message: expect.stringMatching(/refuses private without credentials/),
      });
      const credentials = { [closed.host]: account };
      expect(await publish(sample, `${closed.host}/private:one`, { credentials })).toMatchObject({
        layers: { sent: 3 },
      });
    } finally {
      await closed.stop();
    }
  }, 120_000);

  test('tags come in pages; a manifest is had by tag and by digest, and deleted', async () => {
    const { digest } = await publish(sample, `${registry.host}/listed:a`);
    for (const tag of ['b', 'c']) await publish(sample, `${registry.host}/listed:${tag}`);
    const repository = await shelf.repository(at(`${registry.host}/listed`), {}, 'delete');
    const first = await repository.tags(2, undefined, soon());
    expect(first).toEqual({ tags: ['a', 'b'], next: 'b' });
    expect(await repository.tags(2, 'b', soon())).toEqual({ tags: ['c'], next: null });
    expect(await repository.head('a', soon())).toMatchObject({ digest });
    expect(await repository.head('none', soon())).toBeUndefined();
    expect(await repository.manifest(digest, soon())).toMatchObject({
      digest,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      document: { layers: { length: 3 } },
    });
    await repository.delete(digest, soon());
    expect(await repository.head('a', soon())).toBeUndefined();
    await expect(repository.delete(digest, soon())).rejects.toMatchObject({ code: 'image_not_found' });
  });

  test('a registry that forbids deleting says so, and one that lists extensions is heard', async () => {
    const extension = {
      name: '_zot',
      url: 'https://example',
      description: 'search',
      endpoints: ['/v2/_zot/ext/search'],
    };
    const front = await startTroubled(registry.host, (incoming, response, pass) => {
      if (incoming.method === 'DELETE') response.writeHead(405).end();
      else if (incoming.url === '/v2/_oci/ext/discover') response.end(JSON.stringify({ extensions: [extension] }));
      else pass();
    });
    const repository = await shelf.repository(at(`${front.host}/name`), {}, 'delete');
    await expect(repository.delete(`sha256:${'0'.repeat(64)}`, soon())).rejects.toMatchObject({
      code: 'registry_failed',
      message: expect.stringMatching(/does not let images be deleted/),
    });
    expect(await repository.extensions(soon())).toEqual([extension]);
    await front.stop();
    expect(await (await shelf.repository(at(`${registry.host}/name`))).extensions(soon())).toEqual([]);
  });

  test('what is not here, or belongs to this machine, is not published', async () => {
    await expect(publish(`sha256:${'0'.repeat(64)}`, `${registry.host}/x:y`)).rejects.toMatchObject({
      code: 'image_not_found',
    });
    const { images } = freshImages();
    const host = await images.resolve({ family: 'host', mode: 'require' }, { signal: soon() });
    const local = new Shelf(images).publish(
      host.digest,
      at(`${registry.host}/x:y`),
      {},
      {
        signal: soon(),
        progress: () => {},
      },
    );
    await expect(local).rejects.toMatchObject({ code: 'image_not_portable' });
    expect(() => at('-x/y:z')).toThrow(/not valid/);
  });

  test('packed layers are named by their content', () => {
    for (const name of readdirSync(join(folder, 'blobs'))) {
      const sum = execFileSync('sha256sum', [join(folder, 'blobs', name)], { encoding: 'utf8' }).split(' ')[0];
      expect(name).toBe(`sha256-${sum}`);
    }
    expect(readdirSync(join(folder, 'blobs'))).toHaveLength(4);
  });
});
