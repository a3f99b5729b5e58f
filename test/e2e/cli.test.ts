import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RouteDecision, Sandbox } from '@caisson/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CliWorld, kill } from './cli-world.ts';
import { request } from './unix-request.ts';

const startedNote = 'started a server in the background; `caisson stop-server` ends it\n';

describe('with the server in the background', () => {
  const world = new CliWorld();
  beforeAll(() => world.run(['list']));
  afterAll(() => world.close());

  test('a sandbox is created, seen, stopped, started, recreated and destroyed', async () => {
    const made = await world.json<Sandbox>(['create', '--name', 'life', '--label', 'team=a', '--ttl', '2h']);
    expect(made).toMatchObject({ name: 'life', state: 'ready', labels: { team: 'a' }, expiresAt: expect.any(String) });
    expect(await world.json(['get', made.id])).toMatchObject({ id: made.id });
    expect(await world.json(['get', 'life', '--attempts'])).toMatchObject({ attempts: [{ action: 'create' }] });
    expect(await world.json(['stop', 'life'])).toMatchObject({ state: 'stopped' });
    expect(await world.json(['start', 'life'])).toMatchObject({ state: 'ready' });
    expect(await world.json(['recreate', 'life'])).toMatchObject({ state: 'ready', incarnation: 2 });
    expect((await world.run(['destroy', 'life'])).out).toBe(`${made.id}\n`);
    expect(await world.json(['get', made.id])).toMatchObject({ state: 'destroyed' });
    // What ran is told of one that is gone too, also by its name.
    expect(await world.json(['attempt', 'show', 'life'])).toMatchObject({ sandbox: made.id, action: 'recreate' });
    const events = (await world.run(['events', made.id, '--json'])).out.trim().split('\n');
    expect(events.map((line) => JSON.parse(line).sequence)).toEqual(events.map((_, index) => index + 1));
  });

  test('the list filters, and its pages are put together', async () => {
    for (const team of ['x', 'y', 'x']) await world.run(['create', '--label', `team=${team}`]);
    const list = await world.json<{ items: Sandbox[]; next: string | null }>(['list', '--label', 'team=x']);
    expect(list.items.map(({ labels }) => labels.team)).toEqual(['x', 'x']);
    expect(list.next).toBeNull();
    const cut = await world.json<{ items: Sandbox[]; next: string | null }>(['list', '--limit', '1']);
    expect(cut.items).toHaveLength(1);
    expect(cut.next).toEqual(expect.any(String));
    const people = await world.run(['list']);
    expect(people.out).toMatch(/^ID +NAME +STATE/);
  });

  test('ensure gives the same sandbox again', async () => {
    const first = await world.json<Sandbox>(['ensure', '--name', 'steady']);
    const second = await world.json<Sandbox>(['ensure', '--name', 'steady']);
    expect(second.id).toBe(first.id);
  });

  test('a spec comes from the standard input', async () => {
    const spec = 'repo: https://github.com/example/project\npackages: [git]\n';
    const { code, out } = await world.run(['create', '--spec', '-', '--json'], { stdin: spec });
    expect(code).toBe(0);
    const { id, attempt } = JSON.parse(out);
    const { body } = await request(join(world.data, 'server.sock'), 'GET', `/v1/sandboxes/${id}/attempts/${attempt}`);
    expect(body.spec).toEqual({ repo: 'https://github.com/example/project', packages: ['git'] });
  });

  test.each([
    [['get', 'nobody'], 66, 'sandbox_not_found'],
    [['get', 'sbx00000000000000000000'], 66, 'sandbox_not_found'],
    [['create', '--profile', 'nothing'], 66, 'profile_not_found'],
    [['create', '--driver', 'nothing'], 66, 'driver_not_found'],
    [['create', 'not a url'], 65, 'spec_invalid'],
    [['create', '--input', 'x=1'], 65, 'request_invalid'],
    [['list', '--url', 'http://127.0.0.1:1'], 75, 'server_unreachable'],
    [['list', '--api-key', 'csn_wrong'], 77, 'unauthenticated'],
  ])('%j ends with %i and the code %s', async (args, exitCode, code) => {
    const [words, document] = await Promise.all([world.run(args), world.run([...args, '--json'])]);
    expect(words).toMatchObject({ code: exitCode, out: '' });
    expect(words.err).toMatch(new RegExp(`^error: .+\ncode: ${code}\nnext: .+\n$`, 's'));
    expect(words.err).not.toMatch(/\n\s+at /);
    expect(document).toMatchObject({ code: exitCode, out: '' });
    expect(JSON.parse(document.err)).toMatchObject({ code, hint: expect.any(String) });
  });

  test('events -f tells of a create while it happens', async () => {
    const follower = world.start(['events', '-f', '--after', '0', '--json']);
    await follower.until(/"position":1\b/);
    const { id } = await world.json<Sandbox>(['create']);
    await follower.until(new RegExp(`caisson.sandbox.ready","subject":"${id}"`));
    follower.child.kill('SIGINT');
    await follower.done;
  });

  test('profiles and the doctor are told', async () => {
    expect((await world.run(['profile', 'list'])).out).toContain('blank@1');
    expect(await world.json(['profile', 'get', 'blank'])).toMatchObject({ name: 'blank', lineage: expect.any(Array) });
    expect((await world.run(['doctor'])).out).toMatch(/✓ +driver fake/);
  });

  test('a profile is checked and added from a file', async () => {
    const text = 'name: mine\nversion: 1\nextends: { name: blank }\nlease: { ttlSeconds: 60 }\n';
    const checked = await world.run(['profile', 'check', '-'], { stdin: text });
    expect(checked).toMatchObject({ code: 0, out: expect.stringContaining('mine@1 could be added') });
    expect(await world.run(['profile', 'add', '-'], { stdin: text })).toMatchObject({ code: 0, out: 'mine@1\n' });
    expect((await world.run(['profile', 'add', '-'], { stdin: text })).err).toContain('there already');
    const other = await world.run(['profile', 'add', '-'], { stdin: text.replace('60', '61') });
    expect(other).toMatchObject({ code: 73, err: expect.stringContaining('code: profile_exists') });
    const bad = await world.run(['profile', 'check', '-'], { stdin: 'name: Mine\nversion: 1\n' });
    expect(bad).toMatchObject({ code: 65, err: expect.stringContaining('name: must be lower-case') });
  });

  test('a route is explained before, and shown after', async () => {
    const before = await world.json<RouteDecision>(['route', 'explain']);
    expect(before).toMatchObject({ chosen: { driver: 'fake' }, candidates: [{ driver: 'fake', rank: 1 }] });
    expect((await world.run(['route', 'explain'])).out).toMatch(/^fake on .+, by prefer-self-hosted\n/);
    const { id } = await world.json<Sandbox>(['create']);
    expect((await world.run(['get', id])).out).toMatch(/\nroute +prefer-self-hosted: fake on /);
    expect(await world.json(['get', id])).toMatchObject({ id, route: { driver: 'fake', failedTries: [] } });
    const none = await world.run(['route', 'explain', '--profile', 'untrusted']);
    expect(none).toMatchObject({ code: 75, out: expect.stringContaining('not_asked_for (route.drivers)') });
  });

  test('CAISSON_HOST says where it must be', async () => {
    const moon = await world.run(['create'], { env: { CAISSON_HOST: 'moon' } });
    expect(moon).toMatchObject({ code: 66, err: expect.stringContaining('code: host_not_found') });
    const { host } = await world.json<Sandbox>(['create']);
    expect(await world.json<Sandbox>(['create'], { CAISSON_HOST: host ?? '' })).toMatchObject({ host });
  });

  test('the host, what is stale on it, and what the installation can do are told', async () => {
    expect((await world.run(['inspect', 'host'])).out).toMatch(
      /^host +\S+\n[\s\S]*\nroom +yes\n[\s\S]*\nfake +1 +closed/,
    );
    expect((await world.run(['inspect', 'stale'])).out).toBe('nothing is stale\n');
    expect(await world.json(['reap-stale'])).toMatchObject({ applied: false, items: [] });
    expect(await world.json(['reap-stale', '--apply'])).toMatchObject({ applied: true, items: [] });
    expect((await world.run(['capabilities'])).out).toContain('sandbox-canary@1');
  });

  test('warm pools are set and shown', async () => {
    expect(await world.json(['pool', 'show'])).toEqual({ items: [] });
    expect((await world.run(['pool', 'set', 'blank', '--min', '0', '--max', '2'])).out).toMatch(
      /blank@1 +fake +0-2 +0/,
    );
    expect(await world.json(['pool', 'show'])).toMatchObject({ items: [{ profile: 'blank@1', min: 0, max: 2 }] });
    expect(await world.run(['pool', 'set', 'blank', '--min', '3', '--max', '2'])).toMatchObject({ code: 65 });
    expect(await world.run(['pool', 'set', 'nothing', '--min', '0', '--max', '2'])).toMatchObject({ code: 66 });
    await world.run(['pool', 'set', 'blank', '--min', '0', '--max', '0']);
  });
});

describe('the server in the background', () => {
  let world: CliWorld;
  beforeEach(() => {
    world = new CliWorld();
  });
  afterEach(() => world.close());

  test('is started by the first command, which says so, and not by the next', async () => {
    // A start that takes longer says first that it is at it.
    expect((await world.run(['list'])).err.replace(/^starting a server …\n/, '')).toBe(startedNote);
    expect((await world.run(['list'])).err).toBe('');
    expect(await world.run(['stop-server'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ended .* pid \d+\n$/),
    });
    expect(world.servers()).toEqual([]);
    expect(await world.run(['stop-server'])).toMatchObject({ code: 0, out: `no server runs on ${world.data}\n` });
  });

  test('is one, however many commands start at once', async () => {
    const all = await Promise.all([1, 2, 3].map(() => world.run(['create'])));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(all.filter(({ err }) => err.includes(startedNote))).toHaveLength(1);
    const { items } = await world.json<{ items: unknown[] }>(['list']);
    expect(items).toHaveLength(3);
    const { pid } = JSON.parse(readFileSync(join(world.data, 'server.json'), 'utf8'));
    await expect.poll(() => world.servers(), { timeout: 30_000 }).toEqual([pid]);
  });

  test('is started again when it was killed, and has lost nothing', async () => {
    const { id } = await world.json<Sandbox>(['create']);
    for (const pid of world.servers()) kill(pid, 'SIGKILL');
    const again = await world.run(['get', id, '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ id, state: 'ready' });
    expect(again.err).toContain(startedNote);
  });
});

describe('the server in front', () => {
  const world = new CliWorld();
  afterAll(() => world.close());

  test('keys open it over TCP, and nothing else does once there is one', async () => {
    const server = world.start(['serve', '--data', world.data, '--listen', '127.0.0.1:0', '--json']);
    const [address = ''] = await server.until(/http:\/\/127\.0\.0\.1:\d+/);
    const env = { CAISSON_URL: address };
    expect((await world.run(['list'], { env })).code).toBe(0);

    const { secret, id } = await world.json<{ secret: string; id: string }>([
      'keys',
      'create',
      'ci',
      '--expires',
      '1d',
    ]);
    expect((await world.run(['list'], { env })).code).toBe(77);
    const keyed = { ...env, CAISSON_API_KEY: secret };
    expect(await world.json(['create'], keyed)).toMatchObject({ state: 'ready' });
    expect((await world.run(['keys', 'list'], { env: keyed })).code).toBe(77);
    expect((await world.run(['keys', 'list'])).out).toContain(id);
    expect((await world.run(['keys', 'revoke', id])).code).toBe(0);
    expect((await world.run(['list'], { env: keyed })).code).toBe(77);

    const second = await world.run(['serve', '--data', world.data]);
    expect(second).toMatchObject({ code: 75, out: '' });
    expect(second.err).toContain(`pid ${server.child.pid}`);
    expect(second.err).toContain('code: data_folder_locked');
    const port = address.split(':').at(-1) ?? '';
    const other = await world.run(['serve', '--data', join(world.home, 'other'), '--listen', port]);
    expect(other).toMatchObject({ code: 75, err: expect.stringContaining('code: address_in_use') });

    server.child.kill('SIGTERM');
    expect((await server.done).code).toBe(0);
    expect(await world.json<{ items: unknown[] }>(['list'])).toMatchObject({ items: [{ state: 'ready' }] });
  });

  test('a foreign address without a key is refused', async () => {
    const refused = await world.run(['serve', '--data', join(world.home, 'open'), '--listen', '0.0.0.0:0']);
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain('code: listen_needs_key');
  });
});
