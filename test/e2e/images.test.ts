import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeScratch, scratchFolder } from '../images/images-folder.ts';
import { writeLayout } from '../images/layout-writer.ts';
import { account, type RealRegistry, startRegistry } from '../images/real-registry.ts';
import { directory, file, tarOf } from '../images/tar-writer.ts';
import { slowness } from '../slowness.ts';
import { CliWorld } from './cli-world.ts';
import { type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) test.skip('images of a server: needs root', () => {});

describe.runIf(isRoot)('images of a server', () => {
  let registry: RealRegistry;
  let server: TestServer;
  let operator: Caisson;
  let user: Caisson;
  let stranger: Caisson;
  let reference: string;
  let digest: string;
  const world = new CliWorld();
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    const folder = scratchFolder();
    registry = await startRegistry(folder, { password: true });
    const members = [directory('etc'), directory('tmp', { mode: 0o1777 }), file('etc/hello', 'hello\n')];
    registry.push(writeLayout(join(folder, 'layout'), [{ tar: tarOf(members) }]), 'team/small:one');
    // Its host has a name, so that a secret can be bound to it.
    reference = `localhost:${registry.host.split(':')[1]}/team/small:one`;
    server = await testServer({ drivers: ['oci'], imageLimits: { graceMs: 0 } });
    for (const [name, tenant, scope] of [
      ['operator', 'local', 'admin'],
      ['user', 'acme', 'manage'],
      ['stranger', 'evil', 'manage'],
    ] as const) {
      const body = { name, tenant, project: 'web', principal: 'ada', scope };
      keys[name] = String((await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', body)).body.secret);
    }
    const as = (name: string) => new Caisson({ baseUrl: server.url, apiKey: keys[name] ?? '' });
    [operator, user, stranger] = [as('operator'), as('user'), as('stranger')];
    const port = Number(registry.host.split(':')[1]);
    await operator.secrets.set('registry', {
      value: `${account.username}:${account.password}`,
      domains: ['localhost'],
      ports: [port],
    });
  }, 60_000 * slowness);
  afterAll(async () => {
    await server?.close();
    await registry?.stop();
    await world.close();
    removeScratch();
  }, 60_000 * slowness);

  const layers = () => readdirSync(join(server.folder, 'images', 'layers'));

  test('an image is pulled with a secret, and not without', async () => {
    await expect(operator.images.pull(reference)).rejects.toMatchObject({ code: 'registry_failed' });
    expect(layers()).toEqual([]);
    const lines: string[] = [];
    const pulled = await operator.images.pull(reference, {
      secret: 'registry',
      onProgress: (line) => lines.push(line),
    });
    expect(pulled).toMatchObject({ name: reference, isKept: true, sandboxes: 0, layers: { length: 1 } });
    expect(lines[0]).toMatch(/^1 of 1 layers to fetch/);
    digest = pulled.digest;
    await operator.secrets.set('elsewhere', { value: 'a:b', domains: ['example.com'] });
    await expect(operator.images.pull(reference, { secret: 'elsewhere' })).rejects.toMatchObject({
      code: 'request_invalid',
      message: expect.stringMatching(/does not go to localhost/),
    });
    await expect(operator.images.pull('oci:/etc:x', {})).rejects.toMatchObject({ code: 'request_invalid' });
    await expect(operator.images.pull('-x/y:z', {})).rejects.toMatchObject({ code: 'request_invalid' });
  });

  test('everybody sees their own images, and nothing of those of others', async () => {
    expect(await user.images.list()).toEqual([]);
    await expect(user.images.list({ all: true })).rejects.toMatchObject({ code: 'operator_needed' });
    await expect(user.images.get(digest)).rejects.toMatchObject({ code: 'image_not_found' });
    await expect(user.images.pull(reference)).rejects.toMatchObject({ code: 'scope_missing' });
    const spec = { source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'off' } } };
    const sandbox = await user.sandboxes.create({ spec });
    const [own, ...more] = await user.images.list();
    expect(more).toEqual([]);
    expect(own).toMatchObject({ name: 'host', sandboxes: 1, usedAt: null, madeAt: null, isKept: null });
    expect(await user.images.get(own?.digest ?? '')).toEqual(own);
    expect(await stranger.images.list()).toEqual([]);
    await expect(stranger.images.get(own?.digest ?? '')).rejects.toMatchObject({ code: 'image_not_found' });
    expect(new Set((await operator.images.list({ all: true })).map((image) => image.digest))).toEqual(
      new Set([digest, own?.digest]),
    );
    await expect(operator.images.delete(own?.digest ?? '')).rejects.toMatchObject({ code: 'image_in_use' });
    // What a sandbox stands on, and what was pulled on purpose, stays.
    expect(await operator.images.gc({ unusedSeconds: 0 })).toMatchObject({ images: [], layers: 0 });
    expect(layers()).toHaveLength(2);
    expect((await sandbox.exec('cat /etc/hostname')).exitCode).toBe(0);
    await sandbox.destroy();
    expect(await user.images.list()).toEqual([]);
    expect(await operator.images.gc({ unusedSeconds: 0 })).toMatchObject({ images: [own?.digest], layers: 1 });
    expect(layers()).toHaveLength(1);
  });

  test('an image goes to a registry, is looked at there, and deleted', async () => {
    const [host] = reference.split('/');
    const lines: string[] = [];
    const options = { secret: 'registry', labels: { team: 'web' }, onProgress: (line: string) => lines.push(line) };
    const published = await operator.images.publish(digest, `${host}/team/copy:two`, options);
    expect(published).toMatchObject({ reference: `${host}/team/copy:two`, layers: { sent: 1 } });
    expect(lines.at(-1)).toBe(`${host}/team/copy:two is ${published.digest}`);
    const secret = 'registry';
    expect(await operator.images.tags(`${host}/team/copy`, { secret })).toEqual({ items: ['two'], next: null });
    const head = await operator.images.manifest(`${host}/team/copy:two`, { secret, head: true });
    expect(head).toMatchObject({ digest: published.digest, manifest: null });
    expect(await operator.images.manifest(`${host}/team/copy@${published.digest}`, { secret })).toMatchObject({
      manifest: { layers: { length: 1 } },
    });
    expect(await operator.images.extensions(`${host}/team/copy`, { secret })).toEqual([]);
    await operator.images.unpublish(`${host}/team/copy:two`, { secret });
    await expect(operator.images.manifest(`${host}/team/copy:two`, { secret })).rejects.toMatchObject({
      code: 'image_not_found',
    });
    for (const call of [
      () => user.images.publish(digest, `${host}/team/copy:two`),
      () => user.images.tags(`${host}/team/copy`),
      () => user.images.gc(),
      () => user.images.unpublish(`${host}/team/copy:two`),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'scope_missing' });
  });

  test('the command publishes by the beginning of a digest, and deletes', async () => {
    const env = { CAISSON_URL: server.url, CAISSON_API_KEY: keys.operator ?? '' };
    const [host] = reference.split('/');
    const short = digest.slice('sha256:'.length, 'sha256:'.length + 12);
    const published = await world.run(
      ['image', 'publish', short, `${host}/team/cli:one`, '--secret', 'registry', '--json'],
      { env },
    );
    expect(published.err).toBe('');
    expect(JSON.parse(published.out)).toMatchObject({ reference: `${host}/team/cli:one` });
    expect((await world.run(['image', 'delete', digest], { env })).out).toBe(`${digest}\n`);
    const collected = await world.run(['image', 'gc', '--unused', '0', '--json'], { env });
    expect(JSON.parse(collected.out)).toMatchObject({ layers: 1 });
    expect(layers()).toEqual([]);
  });
});
