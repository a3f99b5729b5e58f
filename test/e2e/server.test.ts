import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../packages/server/src/store/database.ts';
import { skip } from '../conformance/skips.ts';
import { startPostgres } from '../postgres.ts';
import { caissonBin } from '../server-process.ts';
import { call, testServer } from './server.ts';
import { request } from './unix-request.ts';

const temporary = () => mkdtempSync(join(tmpdir(), 'caisson-srv-'));

test('a second server on a data folder is refused and told the pid of the first', async () => {
  const first = await testServer();
  await expect(testServer({}, first.folder)).rejects.toMatchObject({
    code: 'data_folder_locked',
    message: expect.stringContaining(`pid ${process.pid}`),
  });
  expect((await call(first.url, 'GET', '/readyz')).status).toBe(200);
  await first.close();
});

test('what was made before a restart is there afterwards', async () => {
  const first = await testServer();
  const { body: made } = await call(first.url, 'POST', '/v1/sandboxes', { body: { name: 'kept' } });
  const second = await first.restart();
  expect((await call(second.url, 'GET', `/v1/sandboxes/${made.id}`)).body).toEqual(made);
  await second.close();
});

test('with --destroy-on-exit nothing outlives the server', async () => {
  const first = await testServer({ destroyOnExit: true });
  const { body: made } = await call(first.url, 'POST', '/v1/sandboxes', { body: {} });
  const second = await first.restart();
  expect((await call(second.url, 'GET', `/v1/sandboxes/${made.id}`)).body).toMatchObject({
    state: 'destroyed',
    reason: { message: 'its server ended' },
  });
  await second.close();
});

test('a port in use is told, and leaves the folder free', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const folder = temporary();
  await expect(testServer({ listen: [`127.0.0.1:${port}`] }, folder)).rejects.toMatchObject({ code: 'address_in_use' });
  taken.close();
  const server = await testServer({}, folder);
  await server.close();
});

test('an address that others can reach needs a key', async () => {
  const folder = temporary();
  await expect(testServer({ listen: ['0.0.0.0:0'] }, folder)).rejects.toMatchObject({ code: 'listen_needs_key' });
  const local = await testServer({}, folder);
  await call(local.url, 'POST', '/v1/keys', { body: { name: 'first' } });
  await local.server.close();
  const open = await testServer({ listen: ['0.0.0.0:0'] }, folder);
  const port = new URL(open.url).port;
  expect((await call(`http://127.0.0.1:${port}`, 'GET', '/v1/whoami')).status).toBe(401);
  await open.close();
});

test.each(['nonsense', '1.2.3.4', 'host:99999', ':', '[::1'])('cannot listen on %j', async (listen) => {
  await expect(testServer({ listen: [listen] })).rejects.toMatchObject({
    code: expect.stringMatching(/request_invalid|address_/),
  });
});

test('a data folder of a newer version is refused', async () => {
  const first = await testServer();
  await first.server.close();
  const { db, close } = await openSqlite(join(first.folder, 'caisson.db'));
  await db.updateTable('meta').set({ value: '999' }).where('key', '=', 'version').execute();
  await close();
  await expect(testServer({}, first.folder)).rejects.toMatchObject({ code: 'data_folder_newer' });
  rmSync(first.folder, { recursive: true });
});

test('a profile that is not valid stops the start and says where', async () => {
  const first = await testServer();
  await first.server.close();
  execFileSync('mkdir', ['-p', join(first.folder, 'profiles')]);
  writeFileSync(join(first.folder, 'profiles', 'bad.yaml'), 'name: bad\nversion: 1\nttl: 3\n');
  await expect(testServer({}, first.folder)).rejects.toMatchObject({
    code: 'profile_invalid',
    problems: [{ path: 'ttl', code: 'unknown_key' }],
  });
  writeFileSync(
    join(first.folder, 'profiles', 'bad.yaml'),
    'name: good\nversion: 2\nsourceRequired: false\nlease: {ttlSeconds: 100}\n',
  );
  const server = await testServer({}, first.folder);
  const { body } = await call(server.url, 'POST', '/v1/sandboxes', { body: { profile: 'good' } });
  expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBeGreaterThan(99_000);
  await server.close();
});

test('a database that goes away is told by every surface, and everything works when it is back', async () => {
  const postgres = await startPostgres();
  const server = await testServer({ databaseUrl: postgres.database() });
  const { body: made } = await call(server.url, 'POST', '/v1/sandboxes', { body: { name: 'before' } });
  await postgres.crash();
  expect(await call(server.url, 'GET', `/v1/sandboxes/${made.id}`)).toMatchObject({
    status: 503,
    body: { code: 'database_unavailable', retryable: true },
  });
  expect(await call(server.url, 'POST', '/v1/sandboxes', { body: {} })).toMatchObject({
    status: 503,
    body: { code: 'database_unavailable' },
  });
  expect(await call(server.url, 'GET', '/v1/events')).toMatchObject({ status: 503 });
  expect(await call(server.url, 'GET', '/v1/keys')).toMatchObject({ status: 503 });
  expect(await call(server.url, 'GET', '/readyz')).toMatchObject({
    status: 503,
    body: { ready: false, reasons: [expect.any(String)] },
  });
  expect((await call(server.url, 'GET', '/healthz')).status).toBe(200);
  expect((await call(server.url, 'GET', '/metrics')).status).toBe(200);
  await postgres.start();
  expect((await call(server.url, 'GET', `/v1/sandboxes/${made.id}`)).body).toEqual(made);
  expect((await call(server.url, 'POST', '/v1/sandboxes', { body: {} })).status).toBe(201);
  await server.close();
  await postgres.close();
});

test('a second server on one Postgres is refused, also from another data folder', async () => {
  const postgres = await startPostgres();
  const databaseUrl = postgres.database();
  const first = await testServer({ databaseUrl });
  await expect(testServer({ databaseUrl })).rejects.toMatchObject({ code: 'data_folder_locked' });
  const { body: made } = await call(first.url, 'POST', '/v1/sandboxes', { body: {} });
  expect(made.state).toBe('ready');
  await first.close();
  const second = await testServer({ databaseUrl });
  await second.close();
  await postgres.close();
});

test('ensure and destroy of one name at once end in no deadlock on Postgres', async () => {
  const postgres = await startPostgres();
  const server = await testServer({ databaseUrl: postgres.database() });
  const until = Date.now() + 3_000;
  const codes = new Set<string>();
  const worker = async () => {
    while (Date.now() < until) {
      const made = await call(server.url, 'POST', '/v1/sandboxes/ensure', { body: { name: 'one' } });
      if (made.status >= 400) codes.add(made.body.code);
      if (made.body.id) {
        const gone = await call(server.url, 'DELETE', `/v1/sandboxes/${made.body.id}`);
        if (gone.status >= 400) codes.add(gone.body.code);
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  expect([...codes].filter((code) => !['state_changed', 'sandbox_exists', 'action_cancelled'].includes(code))).toEqual(
    [],
  );
  await server.close();
  await postgres.close();
});

test('a log that cannot be written neither stops nor holds the server', async () => {
  const folder = temporary();
  const full = openSync('/dev/full', 'w');
  const child = spawn(
    process.execPath,
    [caissonBin, 'serve', '--data', folder, '--driver', 'fake', '--log-level', 'debug'],
    {
      stdio: ['ignore', 'ignore', full],
    },
  );
  const ended = once(child, 'exit');
  while (!existsSync(join(folder, 'server.json')) && child.exitCode === null)
    await new Promise((resolve) => setTimeout(resolve, 20));
  for (let n = 0; n < 30; n += 1) {
    const made = await request(join(folder, 'server.sock'), 'POST', '/v1/sandboxes', {});
    expect(made.status).toBe(201);
  }
  child.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
  rmSync(folder, { recursive: true });
});

test('a full disk is told, loses nothing, and everything works when there is room again', async (context) => {
  if (process.getuid?.() !== 0) skip(context, 'mounting a small disk needs root');
  const folder = temporary();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder]);
  try {
    const server = await testServer({}, folder);
    const { body: made } = await call(server.url, 'POST', '/v1/sandboxes', { body: { name: 'before' } });
    try {
      execFileSync('dd', ['if=/dev/zero', `of=${join(folder, 'ballast')}`, 'bs=1k', 'count=4000'], { stdio: 'ignore' });
    } catch {
      // It ends when the disk is full, which is what is wanted.
    }
    const refused = [];
    for (let n = 0; n < 40; n += 1)
      refused.push(
        await call(server.url, 'POST', '/v1/sandboxes', { body: { labels: { n: String(n), pad: 'x'.repeat(200) } } }),
      );
    const failures = refused.filter(({ status }) => status !== 201);
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(['storage_full', 'driver_failed']).toContain(failure.body.code);
    expect((await call(server.url, 'GET', `/v1/sandboxes/${made.id}`)).body).toEqual(made);
    rmSync(join(folder, 'ballast'));
    expect((await call(server.url, 'POST', '/v1/sandboxes', { body: {} })).status).toBe(201);
    for (const { body } of refused.filter(({ status }) => status === 201)) {
      expect((await call(server.url, 'GET', `/v1/sandboxes/${body.id}`)).status).toBe(200);
    }
    await server.server.close();
  } finally {
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  }
});

test('metrics count requests, states and jobs', async () => {
  const server = await testServer();
  await call(server.url, 'POST', '/v1/sandboxes', { body: {} });
  const { body } = await call(server.url, 'GET', '/metrics');
  expect(body).toMatch(/caisson_http_request_duration_seconds_count\{route="sandbox.create",status="201"\} 1/);
  expect(body).toMatch(/caisson_sandboxes\{state="ready"\} 1/);
  expect(body).toContain('caisson_jobs');
  await server.close();
});
