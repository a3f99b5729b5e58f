import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { giveDebianBase } from '../debian-base.ts';
import { makeCertificates } from '../network/certificates.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { type ServerProcess, startServerProcess } from '../server-process.ts';
import { slowness } from '../slowness.ts';
import { filesWith, spellingsOf } from './found-nowhere.ts';
import { type GitServer, gitServer, opened } from './git-server.ts';

/** A secret is bound to a name; this one needs nobody to resolve it, and is dialled by its address. */
const host = 'localhost';
const address = '127.0.0.1';
const login = 'x-access-token:engine-room-token-77e0';
const certificates = makeCertificates(address);
const waitSeconds = 600;
const never = new AbortController().signal;
const patience = { timeout: 120_000 * slowness, interval: 100 };
const bookworm = { family: 'debian', release: 'bookworm' };

/** A server that has a container engine and nothing else: git runs in a container of it. */
describe('on an engine alone', { timeout: 600_000 * slowness }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-engine-room-'));
  const data = join(folder, 'data');
  const missing = whyNoEngine('docker');
  let log = '';
  let git: GitServer;
  let engine: RealEngine;
  let server: ServerProcess;
  let caisson: Caisson;

  beforeAll(async () => {
    if (missing !== undefined) return;
    await giveDebianBase(data);
    git = await gitServer({ certificate: certificates.of(address), login });
    writeFileSync(join(folder, 'roots.pem'), certificates.authority);
    engine = await startEngine('docker');
    await serve();
    await caisson.secrets.set('app', { value: login, domains: [host], ports: [git.httpsPort] });
    git.make('inner', { 'inner.txt': 'inner\n' });
    git.make('app', { 'a.txt': 'private\n', '.gitignore': 'out.txt\n' });
    addSubmodule('app', 'inner');
    git.make('dotfiles', { '.vimrc': 'set number\n' });
    git.make('open', { 'a.txt': 'open\n' });
  }, 300_000 * slowness);
  afterAll(async () => {
    if (git) git.isHeld = false;
    if (caisson) for await (const sandbox of caisson.sandboxes.list()) await sandbox.destroy();
    await server?.stop();
    await engine?.close();
    await git?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 300_000 * slowness);
  beforeEach((context) => {
    if (missing !== undefined) skip(context, missing);
  });

  async function serve(driver = 'docker', others: readonly string[] = []): Promise<void> {
    const more = ['--builder', 'buildkit', '--log-level', 'debug', '--docker-host', engine.host, ...opened(git)];
    server = await startServerProcess(data, {
      drivers: [driver],
      more: [...more, ...others, '--egress-roots', join(folder, 'roots.pem')],
      onOutput: (chunk) => {
        log += chunk;
      },
    });
    caisson = new Caisson({ baseUrl: server.url, retries: 0 });
  }

  function addSubmodule(outer: string, inner: string): void {
    const from = join(git.folder, inner);
    git.git(outer, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', from, 'lib/inner');
    git.git(outer, 'config', '-f', '.gitmodules', 'submodule.lib/inner.url', `../${inner}`);
    git.git(outer, 'add', '-A');
    git.git(outer, 'commit', '-q', '-m', 'with a part');
  }

  const openSource = (name: string) => ({ kind: 'git', url: `http://${host}:${git.httpPort}/${name}` });
  const specOf = (last: string, ref?: string) => ({
    os: bookworm,
    source: { kind: 'git', url: `https://${host}:${git.httpsPort}/app`, authRef: 'app', submodules: true, ref },
    inputs: [{ purpose: 'dotfiles', ...openSource('dotfiles') }],
    customization: { dotfilesManager: 'copy' },
    setup: `${last} > out.txt`,
  });
  /** Refs are packs too for a server that holds them: a whole commit need not be asked for. */
  const heldSpec = (last: string) => {
    const { inputs: _, ...rest } = specOf(last, git.git('app', 'rev-parse', 'HEAD'));
    return rest;
  };
  const create = (spec: object) => caisson.sandboxes.create({ spec: spec as never, waitSeconds });
  const sh = async (sandbox: SandboxHandle, line: string) => {
    const { stdout, stderr } = await sandbox.exec(['/bin/sh', '-c', line]);
    return `${stdout}${stderr}`.trim();
  };
  const logOf = async ({ id, record }: SandboxHandle) => {
    const { build } = await caisson.sandboxes.attempt(id, record.attempt ?? '');
    const lines: string[] = [];
    for await (const { text } of caisson.builds.logs(build ?? '')) lines.push(text);
    return lines.join('\n');
  };
  const rooms = async () => {
    const query = { all: true, filters: JSON.stringify({ label: ['caisson.room=true'] }) };
    const { body } = await engine.engine.call<{ Id: string }[]>('GET', '/containers/json', { query, signal: never });
    return body.map(({ Id }) => Id);
  };

  test('a private repository, its submodules and dotfiles are in the image, and the room is gone', async () => {
    const sandbox = await create(specOf('echo one'));
    const line = 'cd /workspace/repo && cat a.txt out.txt lib/inner/inner.txt && git status --porcelain';
    expect(await sh(sandbox, line)).toBe('private\none\ninner');
    expect(await sh(sandbox, 'cat ~/.vimrc; find /workspace /opt/caisson/inputs ! -user user')).toBe('set number');
    expect(await logOf(sandbox)).toMatch(/making a room with git\nmaking a room with git: 2 packages done/);
    expect(await rooms()).toEqual([]);
    // The room is found again, and so is all of the image but its end.
    const changed = await create(specOf('echo two'));
    expect(await sh(changed, line)).toBe('private\ntwo\ninner');
    expect(await logOf(changed)).not.toContain('making a room');

    const snapshot = await sandbox.snapshot({ name: 'after' });
    const inside = await sh(sandbox, 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; git -C /workspace/repo config -l');
    expect(inside).toContain(`:${git.httpsPort}/app`);
    for (const spelling of spellingsOf(login))
      for (const [name, text] of Object.entries({ inside, log, logs: await logOf(sandbox) }))
        expect(text.includes(spelling), `${name}: ${spelling}`).toBe(false);
    expect(filesWith(folder, spellingsOf(login))).toEqual([]);
    expect(filesWith(engine.folder, spellingsOf(login))).toEqual([]);
    await caisson.snapshots.delete(snapshot.id);
    await Promise.all([sandbox.destroy(), changed.destroy()]);
  });

  test('an image that has git is the room itself', async () => {
    const { id, record } = await create({ os: bookworm, source: { kind: 'none' }, packages: ['git'] });
    const { build } = await caisson.sandboxes.attempt(id, record.attempt ?? '');
    const { image } = await caisson.builds.get(build ?? '');
    const reference = await saved(`localhost/caisson/image:${image?.replace(':', '-')}`);
    await caisson.sandboxes.destroy(id);
    const spec = { os: { family: 'image', reference }, source: openSource('open'), setup: 'echo three > out.txt' };
    const sandbox = await create({ ...spec, runtime: { network: { mode: 'allowlist', allow: [host] } } });
    expect(await sh(sandbox, 'cd /workspace/repo && cat a.txt out.txt && git status --porcelain')).toBe(
      'open\nthree\n?? out.txt',
    );
    expect(await logOf(sandbox)).not.toContain('making a room');
    await sandbox.destroy();
  });

  test('for an image without git another room is made, where its rules let it be', async () => {
    const reference = await saved('localhost/tools:latest');
    const spec = { os: { family: 'image', reference }, source: openSource('open'), setup: 'echo four > out.txt' };
    const sandbox = await create(spec);
    expect(await sh(sandbox, 'cd /workspace/repo && cat a.txt out.txt')).toBe('open\nfour');
    await sandbox.destroy();
    // Without setup it is brought at launch, into a sandbox that has no git either.
    const { setup: _, ...plain } = spec;
    const launched = await create({ ...plain, os: { family: 'image', reference: 'localhost/tools:latest' } });
    expect(await sh(launched, 'cd /workspace/repo && cat a.txt && ls -A')).toBe('open\n.git\na.txt');
    await launched.destroy();

    const closed = { runtime: { network: { mode: 'allowlist', allow: [host] } } };
    const first = `the repository http://${host}:${git.httpPort}/open: there is no git in the image to unpack it with`;
    for (const one of [spec, plain]) {
      const failed = await create({ ...one, ...closed }).catch((error) => error);
      expect(failed).toMatchObject({ code: 'build_failed', message: expect.stringContaining(first) });
      await caisson.sandboxes.destroy(String(failed.context.sandbox));
    }
    expect(await rooms()).toEqual([]);
  });

  test('a room that a killed server left is removed by the next, which goes on', async () => {
    git.isHeld = true;
    const made = await caisson.sandboxes.create({ spec: heldSpec('echo five') as never, waitSeconds: 0 });
    const left = await held();
    expect(left).toHaveLength(1);
    await server.kill();
    expect(await rooms()).toEqual(left);
    git.isHeld = false;
    await serve();
    const sandbox = await caisson.sandboxes.get(made.id);
    await expect.poll(async () => (await sandbox.refresh()).state, patience).toBe('ready');
    expect(await sh(sandbox, 'cd /workspace/repo && cat out.txt lib/inner/inner.txt && git status --porcelain')).toBe(
      'five\ninner',
    );
    await expect.poll(rooms, patience).toEqual([]);
    await sandbox.destroy();
  });

  test('Podman has rooms too, for images that are built elsewhere', async (context) => {
    const none = whyNoEngine('podman');
    if (none !== undefined) skip(context, none);
    const podman = await startEngine('podman');
    await server.stop();
    await serve('podman', ['--podman-host', podman.host]);
    try {
      const sandbox = await create(specOf('echo seven'));
      const line = 'cd /workspace/repo && cat out.txt lib/inner/inner.txt ~/.vimrc && git status --porcelain';
      expect(await sh(sandbox, line)).toBe('seven\ninner\nset number');
      await sandbox.destroy();
    } finally {
      await server.stop();
      await podman.close();
      await serve();
    }
  });

  test('an engine that dies below a room is told with the name of the source', async () => {
    git.isHeld = true;
    const creating = create(heldSpec('echo six')).catch((error) => error);
    await held();
    await engine.kill();
    const failed = await creating;
    expect(failed).toMatchObject({
      code: expect.stringMatching(/^(driver_|guest_|instance_)/),
      message: expect.stringContaining(`the repository https://${host}:${git.httpsPort}/app: `),
    });
    git.isHeld = false;
    await engine.start();
    await expect.poll(rooms, patience).toEqual([]);
    await caisson.sandboxes.destroy(String(failed.context.sandbox));
    // Its circuit may be open for a while.
    const again = () => create(heldSpec('echo six')).then((sandbox) => sh(sandbox, 'cat /workspace/repo/out.txt'));
    await expect.poll(() => again().catch((error) => error.code), patience).toBe('six');
  });

  /** An image of the engine as a file of this machine. */
  async function saved(tag: string): Promise<string> {
    const file = join(folder, `${tag.replace(/[/:]/g, '-')}.tar`);
    const archive = await engine.engine.download(`/images/${encodeURIComponent(tag)}/get`, { signal: never });
    await pipeline(archive, createWriteStream(file));
    return `docker-archive:${file}`;
  }

  /** The rooms, once git has been asked for a pack and does not give it. */
  async function held(): Promise<string[]> {
    const asked = () => git.seen.filter((line) => line.startsWith('POST')).length;
    const before = asked();
    await expect.poll(asked, patience).toBeGreaterThan(before);
    return rooms();
  }
});
