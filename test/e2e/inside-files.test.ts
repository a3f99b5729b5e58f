import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { CaissonError } from '@caisson/contract';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { whyNoGuest } from '../../packages/guest/testing/start-guest.ts';
import { GuestDriver } from './guest-driver.ts';
import { type InsideWorld, insideWorld } from './inside-world.ts';
import { call, testServer } from './server.ts';

const reason = whyNoGuest();
let world: InsideWorld;
let folder = '';
beforeAll(async () => {
  if (reason === undefined) world = await insideWorld();
});
beforeEach(async () => {
  folder = `/home/user/${randomBytes(6).toString('hex')}`;
  await world.sandbox.files.mkdir(folder, { parents: true });
});
afterAll(() => world?.close());

const url = (rest: string) => `${world.server.url}/v1/sandboxes/${world.sandbox.id}/files${rest}`;
const content = (path: string) => url(`/content?path=${encodeURIComponent(path)}`);
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe.skipIf(reason !== undefined)('a file', () => {
  test('is written, read, described, moved, linked and removed', async () => {
    const { files } = world.sandbox;
    const entry = await files.write(`${folder}/a/b.txt`, 'hello', { parents: true, mode: 0o640 });
    expect(entry).toMatchObject({ kind: 'file', size: 5, mode: 0o640 });
    expect(await files.readText(`${folder}/a/b.txt`)).toBe('hello');
    await files.chmod(`${folder}/a/b.txt`, 0o600);
    expect((await files.move(`${folder}/a/b.txt`, `${folder}/c.txt`)).mode).toBe(0o600);
    await files.symlink(`${folder}/link`, 'c.txt');
    expect(await files.stat(`${folder}/link`, { follow: false })).toMatchObject({ kind: 'symlink', target: 'c.txt' });
    expect(await files.readText(`${folder}/link`)).toBe('hello');
    const list = await files.list(folder, { depth: 3 });
    expect(list.entries.map(({ path }) => path).sort()).toEqual(['a', 'c.txt', 'link']);
    await files.remove(folder, { recursive: true });
    await expect(files.stat(folder)).rejects.toMatchObject({ code: 'file_not_found', context: { path: folder } });
  });

  test('of many megabytes is the same after both ways', async () => {
    const bytes = randomBytes(40_000_000);
    await world.sandbox.files.write(`${folder}/big`, bytes);
    expect(digest(await world.sandbox.files.read(`${folder}/big`))).toBe(digest(bytes));
    const stream = await world.sandbox.files.readStream(`${folder}/big`);
    await world.sandbox.files.write(`${folder}/copy`, stream);
    expect((await world.sandbox.files.stat(`${folder}/copy`)).size).toBe(bytes.length);
  });

  test('of the kernel, which says it is empty, is read to its end', async () => {
    expect(await world.sandbox.files.readText('/proc/self/status')).toContain('Name:');
    await world.sandbox.files.write(`${folder}/empty`, '');
    expect((await world.sandbox.files.read(`${folder}/empty`)).byteLength).toBe(0);
  });

  test.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=8-100', 206, '89', 'bytes 8-9/10'],
    ['bytes=-100', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['bytes=5-2', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
    ['bytes=10-', 416, '', null],
    ['bytes=-0', 416, '', null],
    ['bytes=999999999999-', 416, '', null],
  ])('answers Range: %s with %i', async (range, status, text, contentRange) => {
    await world.sandbox.files.write(`${folder}/r`, '0123456789');
    const response = await fetch(content(`${folder}/r`), { headers: { range } });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-range')).toBe(contentRange);
    if (status === 416) expect(await response.json()).toMatchObject({ code: 'range_invalid', context: { size: 10 } });
    else expect(await response.text()).toBe(text);
  });

  test('has a tag that changes with it', async () => {
    await world.sandbox.files.write(`${folder}/t`, 'one');
    const first = (await fetch(content(`${folder}/t`))).headers.get('etag') ?? '';
    expect((await fetch(content(`${folder}/t`), { headers: { 'if-none-match': first } })).status).toBe(304);
    await world.sandbox.files.write(`${folder}/t`, 'two');
    expect((await fetch(content(`${folder}/t`), { headers: { 'if-none-match': first } })).status).toBe(200);
    const part = await fetch(content(`${folder}/t`), { headers: { range: 'bytes=0-0', 'if-range': first } });
    expect([part.status, await part.text()]).toEqual([200, 'two']);
  });

  test('stays as it was when an upload breaks off', async () => {
    const { files } = world.sandbox;
    await files.write(`${folder}/kept`, 'old');
    for (const headers of [{ 'content-length': '1000000' }, { 'transfer-encoding': 'chunked' }]) {
      await new Promise<void>((resolve) => {
        const upload = httpRequest(content(`${folder}/kept`), { method: 'PUT', headers });
        upload.on('error', () => resolve());
        upload.write('x'.repeat(100_000), () => setTimeout(() => upload.destroy(new Error('gone')), 50));
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await files.readText(`${folder}/kept`)).toBe('old');
    expect((await files.list(folder)).entries.map(({ path }) => path)).toEqual(['kept']);
  });

  test('may take longer to send than any other request', async () => {
    const driver = new GuestDriver();
    const quick = await testServer({ drivers: [driver], requestTimeoutMs: 300 });
    const sandbox = await new Caisson({ baseUrl: quick.url }).sandboxes.create();
    let left = 6;
    const slow = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        if (left > 0) controller.enqueue(new Uint8Array(2));
        else controller.close();
        left -= 1;
      },
    });
    expect((await sandbox.files.write('/home/user/slow', slow)).size).toBe(12);
    await quick.close();
    await driver.stopAll();
  });

  test('that becomes shorter while it is read breaks the answer off', async () => {
    const path = `${folder}/shrinks`;
    await world.sandbox.files.write(path, new Uint8Array(60_000_000));
    const response = await fetch(content(path));
    await world.sandbox.exec(['truncate', '-s', '1000', path]);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  test('is nothing but bytes to a browser', async () => {
    await world.sandbox.files.write(`${folder}/page.html`, '<script>1</script>');
    const { headers } = await fetch(content(`${folder}/page.html`));
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain('sandbox');
  });

  test('is refused while it is still being sent, and the client learns why', async () => {
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    });
    await expect(world.sandbox.files.write('/no/such/folder/f', endless)).rejects.toMatchObject({
      code: 'file_not_found',
    });
    await world.sandbox.files.write(`${folder}/there`, 'x');
    await expect(
      world.sandbox.files.write(`${folder}/there`, new Uint8Array(3_000_000), { create: true }),
    ).rejects.toMatchObject({ code: 'file_exists' });
  });

  test('that does not fit the disk is refused, and the old one stays', async () => {
    const { sandbox } = world;
    const small = `${folder}/small`;
    await sandbox.files.mkdir(small);
    const mounted = await sandbox.exec(`mount -t tmpfs -o size=256k,mode=777 tmpfs ${small}`, { user: 'root' });
    expect(mounted.exitCode).toBe(0);
    await sandbox.files.write(`${small}/f`, 'old');
    await expect(sandbox.files.write(`${small}/f`, new Uint8Array(2_000_000))).rejects.toMatchObject({
      code: 'disk_quota_exceeded',
      status: 507,
    });
    expect(await sandbox.files.readText(`${small}/f`)).toBe('old');
  });

  test('whose reader leaves holds nothing up', async () => {
    await world.sandbox.files.write(`${folder}/large`, new Uint8Array(30_000_000));
    for (let n = 0; n < 20; n += 1) {
      const response = await fetch(content(`${folder}/large`));
      await response.body?.cancel();
    }
    await expect
      .poll(() => world.driver.started({ sandbox: world.sandbox.id, incarnation: 1 }).connection().channelCount)
      .toBe(0);
  });

  test.each([
    ['a folder read as a file', 'GET', '/content?path=/etc', undefined, 400, 'file_invalid'],
    ['a file used as a folder', 'GET', '/stat?path=/etc/passwd/x', undefined, 400, 'file_not_directory'],
    ['nothing there', 'GET', '/content?path=/no/such', undefined, 404, 'file_not_found'],
    ['what the user may not read', 'GET', '/content?path=/etc/shadow', undefined, 403, 'file_forbidden'],
    ['what the user may not change', 'POST', '/chmod', { path: '/etc/passwd', mode: 511 }, 403, 'file_forbidden'],
    ['a folder that is not empty', 'POST', '/remove', { path: '/home/user', user: 'root' }, 400, 'file_invalid'],
    ['a folder that something is mounted on', 'POST', '/remove', { path: '/home', user: 'root' }, 409, 'file_busy'],
    ['NUL in a path', 'GET', '/stat?path=a%00b', undefined, 400, 'request_invalid'],
    ['no path', 'GET', '/stat', undefined, 400, 'request_invalid'],
    ['an empty path', 'GET', '/stat?path=', undefined, 400, 'request_invalid'],
    ['a path without end', 'GET', `/stat?path=${'x'.repeat(5000)}`, undefined, 400, 'request_invalid'],
    ['a path of too many bytes', 'POST', '/mkdir', { path: 'é'.repeat(3000) }, 400, 'request_invalid'],
    ['a list without end', 'GET', '?path=/&limit=1000000', undefined, 400, 'request_invalid'],
    ['a depth without end', 'GET', '?path=/&depth=1000', undefined, 400, 'request_invalid'],
    ['a mode that is none', 'PUT', '/content?path=x&mode=999', undefined, 400, 'request_invalid'],
    [
      'a pattern that is none',
      'POST',
      '/grep',
      { path: '/etc', pattern: '(', syntax: 'extended' },
      400,
      'request_invalid',
    ],
  ])('%s gets one clear error', async (_, method, rest, body, status, code) => {
    const answer = await call(world.server.url, method, `/v1/sandboxes/${world.sandbox.id}/files${rest}`, { body });
    expect(answer).toMatchObject({ status, body: { code, detail: expect.any(String), hint: expect.any(String) } });
  });
});

describe.skipIf(reason !== undefined)('an edit', () => {
  test('replaces exact text, all of it or nothing, and keeps the mode', async () => {
    const { files } = world.sandbox;
    const path = `${folder}/code`;
    await files.write(path, 'a = 1\nb = 2\nb = 2\n$& é\n', { mode: 0o755 });
    const done = await files.edit(path, [
      { oldText: 'a = 1', newText: 'a = $&' },
      { oldText: 'b = 2', newText: 'c', all: true },
    ]);
    expect(done).toMatchObject({ replaced: 3, mode: 0o755 });
    expect(await files.readText(path)).toBe('a = $&\nc\nc\n$& é\n');
    for (const edits of [
      [
        { oldText: 'a', newText: 'z' },
        { oldText: 'nowhere', newText: '' },
      ],
      [{ oldText: 'c', newText: 'd' }],
    ]) {
      await expect(files.edit(path, edits)).rejects.toMatchObject({ code: 'edit_conflict', status: 409 });
    }
    expect(await files.readText(path)).toBe('a = $&\nc\nc\n$& é\n');
  });

  test('many at once all count', async () => {
    const { files } = world.sandbox;
    const path = `${folder}/many`;
    await files.write(path, Array.from({ length: 20 }, (_, n) => `<${n}>`).join(''));
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => files.edit(path, [{ oldText: `<${n}>`, newText: `[${n}]` }])),
    );
    expect(await files.readText(path)).toBe(Array.from({ length: 20 }, (_, n) => `[${n}]`).join(''));
  });

  test('of what is no text, or of what would be too large, is refused', async () => {
    const { files } = world.sandbox;
    await files.write(`${folder}/binary`, new Uint8Array([255, 254, 0]));
    await expect(files.edit(`${folder}/binary`, [{ oldText: 'a', newText: 'b' }])).rejects.toMatchObject({
      code: 'file_invalid',
    });
    await files.write(`${folder}/wide`, 'a'.repeat(2_000_000));
    await expect(
      files.edit(`${folder}/wide`, [{ oldText: 'a', newText: 'b'.repeat(100_000), all: true }]),
    ).rejects.toBeInstanceOf(CaissonError);
  });
});

describe.skipIf(reason !== undefined)('a tree', () => {
  test('is searched by content and by name, within bounds', async () => {
    const { files } = world.sandbox;
    for (const name of ['one.ts', 'two.ts', 'deep/three.ts', 'four.md']) {
      await files.write(`${folder}/${name}`, `first\nneedle in ${name}\nlast\n`, { parents: true });
    }
    const found = await files.grep(folder, 'needle', { include: ['**/*.ts', '*.ts'], contextLines: 1 });
    expect(found.matches.map(({ path }) => path).sort()).toEqual(['deep/three.ts', 'one.ts', 'two.ts']);
    expect(found.matches[0]).toMatchObject({ line: 2, before: ['first'], after: ['last'] });
    expect(await files.grep(folder, 'needle', { limit: 1 })).toMatchObject({ matches: [{}], truncated: true });
    const named = await files.glob(folder, '**/*.ts');
    expect(named.entries.map(({ path }) => path)).toContain('deep/three.ts');
    expect(await files.list(folder, { limit: 2 })).toMatchObject({ entries: [{}, {}], truncated: true });
  });

  test('goes out and comes in as an archive', async () => {
    const { files } = world.sandbox;
    await files.write(`${folder}/from/a/b`, 'inside', { parents: true });
    const archive = await files.download(`${folder}/from`);
    const done = await files.upload(`${folder}/to`, archive);
    expect(done.entries).toBeGreaterThan(1);
    expect(await files.readText(`${folder}/to/a/b`)).toBe('inside');
    await expect(files.download('/no/such')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(files.upload(`${folder}/bad`, 'this is no archive'.repeat(100))).rejects.toBeInstanceOf(CaissonError);
  });

  test('is watched: each change comes, and leaving ends the watch', async () => {
    const { files } = world.sandbox;
    const seen: string[] = [];
    for await (const { events } of files.watch(folder)) {
      if (events.length === 0) {
        void files.write(`${folder}/new`, 'x').then(() => files.remove(`${folder}/new`));
        continue;
      }
      seen.push(...events.map(({ kind, path }) => `${kind} ${path}`));
      if (seen.includes('remove new')) break;
    }
    expect(seen.some((event) => event.endsWith(' new'))).toBe(true);
    await expect(files.watch('/no/such').next()).rejects.toMatchObject({ code: 'file_not_found' });
    await expect
      .poll(() => world.driver.started({ sandbox: world.sandbox.id, incarnation: 1 }).connection().channelCount)
      .toBe(0);
  });
});

test.skipIf(reason !== undefined)('what a sandbox uses is told', async () => {
  const stats = await world.sandbox.stats();
  expect(stats).toMatchObject({ cpuSeconds: expect.any(Number), processes: expect.any(Number) });
  expect(stats.diskTotalBytes).toBeGreaterThan(0);
});
