import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId, ownerLabels } from '@caisson/contract';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { namesOf } from '../../packages/server/src/drivers/docker/instance-name.ts';
import type { ServerOptions } from '../../packages/server/src/main.ts';
import { skip } from '../conformance/skips.ts';
import { startRegistry } from '../images/real-registry.ts';
import { type EngineName, type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

const os = { family: 'image', reference: 'localhost/tools:latest' };
const runtime = { network: { mode: 'off' }, resources: { memoryMiB: 256, pids: 128 } };
const spec = { source: { kind: 'none' }, target: { os }, runtime };
const persistent = { ...spec, runtime: { ...runtime, persistence: 'persistent' } };
const never = new AbortController().signal;

/** What an engine's sandboxes are to users of a server. */
export function describeEngineServer(name: EngineName): void {
  describe(`a server on ${name}`, () => {
    let real: RealEngine;
    let server: TestServer;
    let options: Partial<ServerOptions>;
    let caisson: Caisson;
    const missing = whyNoEngine(name);

    beforeAll(async () => {
      if (missing !== undefined) return;
      real = await startEngine(name);
      const engines = { dockerHost: real.host, podmanHost: real.host };
      options = { drivers: [name], engines, reconcileSeconds: 0.3, imageLimits: { graceMs: 0 }, orphanGraceSeconds: 0 };
      server = await testServer(options);
      caisson = new Caisson({ baseUrl: server.url });
    }, 60_000 * slowness);
    afterAll(async () => {
      await server?.close();
      await real?.close();
    }, 60_000 * slowness);
    beforeEach((context) => {
      if (missing !== undefined) skip(context, missing);
    });

    const make = (more: object = {}) => caisson.sandboxes.create({ spec, ...more });
    const write = (sandbox: SandboxHandle, text: string) => sandbox.files.write('/workspace/file', text);
    const read = (sandbox: SandboxHandle) => sandbox.files.readText('/workspace/file');
    const count = async (path: string, query: object) =>
      (await real.engine.call<unknown[]>('GET', path, { query: { all: true, ...query }, signal: never })).body.length;

    test('a sandbox from an image of the engine runs commands and is pinned to what the image was', async () => {
      const sandbox = await make();
      expect(await sandbox.exec('echo $HOME; id -u')).toMatchObject({ exitCode: 0, stdout: '/home/user\n1000\n' });
      const key = { sandbox: sandbox.id, incarnation: 1 };
      const { body } = await real.engine.call<{ Image: string }>('GET', `/containers/${namesOf(key).container}/json`, {
        signal: never,
      });
      expect(`sha256:${body.Image.replace('sha256:', '')}`).toBe(real.image.digest);
      await sandbox.destroy();
    });

    test('goes back to a snapshot, and on from it in new sandboxes', async () => {
      const sandbox = await make();
      await write(sandbox, 'one');
      const first = await sandbox.snapshot({ name: 'first' });
      const kept = { code: 'snapshots_not_available', message: expect.stringContaining(`kept by ${name}`) };
      await expect(caisson.snapshots.diffFile(first.id, '/workspace/file')).rejects.toMatchObject(kept);
      await write(sandbox, 'two');
      await sandbox.exec('echo more > /workspace/more');
      await sandbox.rollback('first');
      expect(await read(sandbox)).toBe('one');
      await expect(sandbox.files.readText('/workspace/more')).rejects.toMatchObject({ code: 'file_not_found' });
      await write(sandbox, 'three');
      const [fork] = await sandbox.fork({ count: 1 });
      expect(fork && (await read(fork))).toBe('three');
      const restored = await caisson.snapshots.restore(first.id);
      await sandbox.destroy();
      expect(await read(restored)).toBe('one');
      await caisson.snapshots.delete(first.id);
      expect(await read(restored)).toBe('one');
      await restored.destroy();
      await fork?.destroy();
      const filters = JSON.stringify({ reference: ['localhost/caisson/*'] });
      await expect.poll(() => count('/images/json', { filters }), { timeout: 30_000 * slowness }).toBe(0);
    });

    test('what others made on the engine is no image, by whatever name or id', async () => {
      // A server of its own: where there are keys, nobody is let in without one.
      const engines = { dockerHost: real.host, podmanHost: real.host };
      const shared = await testServer({ drivers: [name], engines });
      try {
        const keyOf = async (tenant: string) => {
          const who = { name: tenant, tenant, project: 'web', principal: 'ada', scope: 'use' };
          const { body } = await request(`${shared.folder}/server.sock`, 'POST', '/v1/keys', who);
          return new Caisson({ baseUrl: shared.url, apiKey: String(body.secret) });
        };
        const [acme, evil] = [await keyOf('acme'), await keyOf('evil')];
        const sandbox = await acme.sandboxes.create({ spec });
        await write(sandbox, 'secret of acme');
        const snapshot = await sandbox.snapshot({ name: 'mine' });
        const tag = `localhost/caisson/snapshot:${snapshot.id}`;
        const { body } = await real.engine.call<{ Id: string }>('GET', `/images/${tag}/json`, { signal: never });
        const id = body.Id.replace('sha256:', '');
        const from = (owner: Caisson, reference: string) =>
          owner.sandboxes.create({ spec: { ...spec, target: { os: { family: 'image', reference } } } });
        for (const reference of [tag, `sha256:${id}`, id, id.slice(0, 12), `localhost/caisson/snapshot@sha256:${id}`]) {
          const failed = await from(evil, reference).catch((error) => error);
          expect(failed, reference).toMatchObject({ code: expect.stringMatching(/^(image_not_found|spec_invalid)$/) });
        }
        // Whose it is may begin from it.
        const own = await from(acme, `sha256:${id}`);
        expect(await read(own)).toBe('secret of acme');
        await Promise.all([own.destroy(), sandbox.destroy()]);
        await acme.snapshots.delete(snapshot.id);
      } finally {
        await shared.close();
      }
    });

    const testPublished = () =>
      test('runs what was published, and loses what it was given when nothing uses it', async () => {
        const archive = join(server.folder, 'tools.tar');
        const saved = await real.engine.call<Buffer>('GET', '/images/localhost/tools:latest/get', { signal: never });
        writeFileSync(archive, saved.body);
        const target = { os: { family: 'image', reference: `docker-archive:${archive}` } };
        const sandbox = await make({ spec: { ...spec, target } });
        const [image] = await caisson.images.list({ all: true });
        const digest = image?.digest ?? '';
        const given = `/images/localhost/caisson/image:${digest.replace(':', '-')}/json`;
        const isGiven = async () =>
          (await real.engine.call('GET', given, { accept: [404], signal: never })).status === 200;
        const scratch = mkdtempSync(join(tmpdir(), 'caisson-engine-registry-'));
        const registry = await startRegistry(scratch);
        try {
          const published = await caisson.images.publish(digest, `${registry.host}/tools:one`);
          const pulled = `${registry.host}/tools@${published.digest}`;
          const query = { fromImage: `${registry.host}/tools`, tag: published.digest };
          await real.engine.call('POST', '/images/create', { query, withinMs: 60_000 * slowness, signal: never });
          const docker = ['--host', real.host, 'run', '--rm', '--network', 'none', pulled, 'sh', '-c', 'echo ran'];
          expect(execFileSync('/usr/bin/docker', docker, { encoding: 'utf8' })).toBe('ran\n');
        } finally {
          await registry.stop();
          rmSync(scratch, { recursive: true });
        }
        // The record goes, and the engine keeps what a container of it uses.
        expect(await caisson.images.gc({ unusedSeconds: 0 })).toMatchObject({ images: [digest], backendImages: 0 });
        expect(await isGiven()).toBe(true);
        await sandbox.destroy();
        expect(await caisson.images.gc({ unusedSeconds: 0 })).toMatchObject({ backendImages: 1 });
        expect(await isGiven()).toBe(false);
      });
    // Podman pulls by a way of its own; what is published is the same.
    if (name === 'docker') testPublished();

    test('stops, keeps its files, and starts again with them', async () => {
      const sandbox = await make({ spec: persistent });
      await write(sandbox, 'kept');
      await sandbox.snapshot({ name: 'before' });
      await sandbox.rollback('before');
      await sandbox.stop();
      server = await server.restart();
      caisson = new Caisson({ baseUrl: server.url });
      const again = await caisson.sandboxes.get(sandbox.id);
      await again.start();
      expect(await read(again)).toBe('kept');
      await again.destroy();
      for await (const { id } of caisson.snapshots.list()) await caisson.snapshots.delete(id);
      expect(await count('/containers/json', {})).toBe(0);
    });

    test('whose root is read-only keeps its workspace in a volume that goes with it, and takes no snapshots', async () => {
      const sandbox = await make({ spec: { ...spec, runtime: { ...persistent.runtime, readOnlyRoot: true } } });
      await write(sandbox, 'kept');
      expect((await sandbox.exec('touch /etc/x', { user: 'root' })).exitCode).not.toBe(0);
      expect(await sandbox.exec('cd && touch x && pwd')).toMatchObject({ stdout: '/home/user\n' });
      await expect(sandbox.snapshot({ name: 'none' })).rejects.toMatchObject({ code: 'snapshots_not_available' });
      await sandbox.stop();
      await sandbox.start();
      expect(await read(sandbox)).toBe('kept');
      await sandbox.destroy();
      const { body } = await real.engine.call<{ Volumes: { Name: string }[] | null }>('GET', '/volumes', {
        signal: never,
      });
      expect((body.Volumes ?? []).filter(({ Name }) => Name.startsWith('caisson-workspace-'))).toEqual([]);
    });

    test('pauses, resumes and goes on after the server was started again', async () => {
      const sandbox = await make();
      await sandbox.pause();
      await sandbox.resume();
      await write(sandbox, 'still here');
      server = await server.restart();
      caisson = new Caisson({ baseUrl: server.url });
      const again = await caisson.sandboxes.get(sandbox.id);
      expect(await read(again)).toBe('still here');
      await again.destroy();
    });

    test('a container that somebody removed is found to be lost, with the reason', async () => {
      const sandbox = await make();
      const { container } = namesOf({ sandbox: sandbox.id, incarnation: 1 });
      await real.engine.call('DELETE', `/containers/${container}`, { query: { force: true }, signal: never });
      await expect
        .poll(async () => (await caisson.sandboxes.get(sandbox.id)).record.reason?.code, { timeout: 30_000 * slowness })
        .toMatch(/^(instance|guest)_gone$/);
      await sandbox.destroy();
    });

    test.each([
      ['localhost/nobody/has-this:1', /registry|image|refused|connect/i, undefined],
      ['--privileged', /reference/, 'spec_invalid'],
    ])('the image %s is one clear error', async (reference, message, code) => {
      const wrong = { ...spec, target: { os: { family: 'image', reference } } };
      const failed = await make({ spec: wrong }).catch((error) => error);
      expect(failed.message).toMatch(message);
      if (code !== undefined) expect(failed.code).toBe(code);
      const { record } = failed.context?.sandbox ? await caisson.sandboxes.get(failed.context.sandbox) : {};
      if (record) expect(record.reason).toMatchObject({ code: 'image_unavailable' });
    });

    test('an image out of an archive of this machine is given to the engine once', async () => {
      const archive = join(real.folder, 'archive.tar');
      const { body } = await real.engine.call<Buffer>('GET', '/images/localhost/tools:latest/get', { signal: never });
      execFileSync('sh', ['-c', `cat > ${archive}`], { input: body });
      const reference = `docker-archive:${archive}`;
      const brought = { ...spec, target: { os: { family: 'image', reference } } };
      const sandbox = await make({ spec: brought });
      expect((await sandbox.exec('echo brought')).stdout).toBe('brought\n');
      const again = await make({ spec: brought });
      const filters = JSON.stringify({ reference: ['localhost/caisson/image'] });
      expect(await count('/images/json', { filters })).toBe(1);
      await Promise.all([sandbox.destroy(), again.destroy()]);
    });

    test('a server whose database is gone adopts its own, and touches nothing of another installation', async () => {
      const sandbox = await make({ spec: persistent, name: 'kept' });
      await write(sandbox, 'mine');
      const { container } = namesOf({ sandbox: newId('sandbox'), incarnation: 1 });
      const Labels = { ...ownerLabels(sandbox.record.owner), 'caisson.installation': 'elsewhere' };
      const body = { Image: real.image.reference, Cmd: ['sleep', '1000'], Labels };
      await real.engine.call('POST', '/containers/create', { query: { name: container }, body, signal: never });
      await server.server.close();
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(server.folder, `caisson.db${suffix}`), { force: true });
      server = await testServer(options, server.folder);
      caisson = new Caisson({ baseUrl: server.url });
      const again = await caisson.sandboxes.get(sandbox.id);
      expect(again.record).toMatchObject({ state: 'ready', name: 'kept', persistence: 'persistent' });
      expect(await read(again)).toBe('mine');
      await again.stop();
      await again.start();
      expect(await read(again)).toBe('mine');
      await again.destroy();
      const { status } = await real.engine.call('GET', `/containers/${container}/json`, { signal: never });
      expect(status).toBe(200);
      await real.engine.call('DELETE', `/containers/${container}`, { query: { force: true }, signal: never });
    });

    test('an engine that ends and comes back is reported and reconciled', async () => {
      const sandbox = await make();
      await real.restart();
      // Docker takes its containers along; Podman's live on.
      const seen = async () => (await caisson.sandboxes.get(sandbox.id)).record.state;
      if (name === 'docker') await expect.poll(seen, { timeout: 30_000 * slowness }).toBe('failed');
      else expect((await sandbox.exec('echo on')).stdout).toBe('on\n');
      await sandbox.destroy();
      const next = await make();
      expect((await next.exec('echo back')).stdout).toBe('back\n');
      await next.destroy();
    });
  });
}
