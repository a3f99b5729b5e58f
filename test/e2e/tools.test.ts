import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newId, type ToolInput, type ToolName, toolNames } from '@caisson/contract';
import type { RunToolOptions, ToolAnswer } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whyNoGuest } from '../../packages/guest/testing/start-guest.ts';
import { type InsideWorld, insideWorld } from './inside-world.ts';
import { call } from './server.ts';

/** Tools over HTTP with a real guest, which works on files of this machine: every path is below a folder of its own. */
const reason = whyNoGuest();
let world: InsideWorld;
let folder = '';

beforeAll(async () => {
  if (reason !== undefined) return;
  world = await insideWorld();
  folder = (await world.sandbox.exec('mktemp -d')).stdout.trim();
}, 120_000);
afterAll(async () => {
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
  await world?.close();
});

const at = (...parts: string[]) => join(folder, ...parts);
const run = <N extends ToolName>(tool: N, params: ToolInput<N>, options: RunToolOptions = {}) =>
  world.sandbox.tools.run(tool, params, options);
const textOf = ({ content }: ToolAnswer) => content.map((block) => (block.type === 'text' ? block.text : '')).join('');
const put = (name: string, content: string) => world.sandbox.files.write(at(name), content);
const post = (body: object) =>
  call(world.server.url, 'POST', `/v1/sandboxes/${world.sandbox.id}/tools`, {
    body: { callId: newId('request'), ...body },
  });

describe.skipIf(reason !== undefined)('files', () => {
  test('what is written can be read, edited and found, and nothing is spawned for it', async () => {
    const before = (await world.sandbox.processes.list()).length;
    const written = await run('write_file', { path: at('src/deep/a.txt'), content: 'one\ntwo\nthree\n' });
    expect(written).toMatchObject({ tool: 'write_file', tier: 1, exitCode: 0, error: null, snapshot: null });
    expect(textOf(await run('read_file', { path: at('src/deep/a.txt') }))).toBe('one\ntwo\nthree\n');
    await run('edit_file', { path: at('src/deep/a.txt'), edits: [{ oldText: 'two', newText: '2' }] });
    expect(readFileSync(at('src/deep/a.txt'), 'utf8')).toBe('one\n2\nthree\n');
    expect(textOf(await run('grep', { pattern: '^t|[0-9]', path: at('src') }))).toBe(
      `${at('src/deep/a.txt')}:2:2\n${at('src/deep/a.txt')}:3:three\n`,
    );
    const around = await run('grep', { pattern: '2', syntax: 'literal', path: at('src'), contextLines: 1 });
    const file = at('src/deep/a.txt');
    expect(textOf(around)).toBe(`${file}-1-one\n${file}:2:2\n${file}-3-three\n--\n`);
    expect(textOf(await run('glob', { pattern: '**/*.txt', path: at() }))).toBe(`${at('src/deep/a.txt')}\n`);
    expect(textOf(await run('glob', { pattern: '**/*.nothing', path: at() }))).toBe('nothing matches');
    expect((await world.sandbox.processes.list()).length).toBe(before);
  });

  test.each([
    [{ firstLine: 2, lines: 2 }, 'b\nc\n'],
    [{ firstLine: 4 }, 'd'],
    [{ firstLine: 5 }, ''],
    [{ lines: 1 }, 'a\n'],
  ])('lines %j of a file', async (part, expected) => {
    await put('lines', 'a\nb\nc\nd');
    expect(textOf(await run('read_file', { path: at('lines'), ...part }))).toBe(expected);
  });

  test('a line far into a large file is found across the pieces in which it comes', async () => {
    await put('large', Array.from({ length: 400_000 }, (_, n) => `line ${n + 1}\n`).join(''));
    expect(textOf(await run('read_file', { path: at('large'), firstLine: 399_999, lines: 1 }))).toBe('line 399999\n');
    const cut = await run('read_file', { path: at('large') }, { maxOutputBytes: 100 });
    expect(cut.truncated).toBe(true);
    expect(textOf(cut)).toHaveLength(100);
  });

  test('a search whose time is up is ended', async () => {
    const answer = await run('grep', { pattern: 'no such words', path: '/usr' }, { timeoutSeconds: 0.01 });
    expect(answer).toMatchObject({ exitCode: 124, timedOut: true, error: null });
  });

  test('what is not text comes as bytes, and bytes can be written', async () => {
    const base64 = Buffer.from([137, 80, 78, 71, 0, 255]).toString('base64');
    await run('write_file', { path: at('a.png'), content: base64, encoding: 'base64', mode: 0o600 });
    expect((await run('read_file', { path: at('a.png') })).content).toEqual([
      { type: 'bytes', base64, mediaType: 'image/png' },
    ]);
  });

  test.each<[string, ToolName, object, string]>([
    ['a file that is not there', 'read_file', { path: 'none' }, 'file_not_found'],
    ['a folder', 'read_file', { path: 'dir' }, 'file_invalid'],
    [
      'text that is not there',
      'edit_file',
      { path: 'lines', edits: [{ oldText: 'zz', newText: '' }] },
      'edit_conflict',
    ],
    ['a working directory that is not there', 'bash', { command: 'true', cwd: 'none' }, 'file_not_found'],
  ])('%s is the answer of the tool, not a failure of the request', async (_, tool, params, code) => {
    await world.sandbox.files.mkdir(at('dir'), { parents: true });
    await put('lines', 'a\nb\n');
    const inside = Object.fromEntries(
      Object.entries(params).map(([key, value]) => [key, ['path', 'cwd'].includes(key) ? at(value) : value]),
    );
    const answer = await run(tool, inside as never);
    expect(answer).toMatchObject({ exitCode: 1, error: { code } });
    expect(answer.content).toHaveLength(1);
  });
});

describe.skipIf(reason !== undefined)('bash', () => {
  test('gives both outputs, the exit code and what it writes as it goes', async () => {
    const progress: string[] = [];
    const answer = await run(
      'bash',
      { command: 'echo "$A"; sleep 0.3; echo err >&2; cat; exit 3', cwd: at(), env: { A: 'out' }, stdin: 'in' },
      { onProgress: ({ stream, text }) => progress.push(`${stream} ${text}`) },
    );
    expect(answer).toMatchObject({ tier: 2, exitCode: 3, timedOut: false, error: null });
    expect(answer.durationMs).toBeGreaterThan(250);
    expect(textOf(answer).split('\n').sort().join()).toBe('err,in,out');
    expect(progress).toContain('stdout out\n');
    expect(progress).toContain('stderr err\n');
  });

  test('is ended when its time is up, and has said what it said', async () => {
    const answer = await run('bash', { command: 'echo begun; sleep 60' }, { timeoutSeconds: 0.5 });
    expect(answer).toMatchObject({ exitCode: 124, timedOut: true });
    expect(textOf(answer)).toBe('begun\n');
  });

  test('ends with the signal that ended it', async () => {
    expect(await run('bash', { command: 'kill -9 $$' })).toMatchObject({ exitCode: 137 });
  });

  test('of much output the beginning and the end are kept', async () => {
    const answer = await run('bash', { command: 'seq 1 100000' }, { maxOutputBytes: 40 });
    expect(answer.truncated).toBe(true);
    expect(textOf(answer)).toMatch(/^1\n2\n3\n[\s\S]*\n… \d+ bytes left out …\n[\s\S]*99999\n100000\n$/);
  });

  test('a daemon that it leaves behind does not hold it', async () => {
    const answer = await run('bash', { command: 'sleep 60 & echo $!' });
    expect(textOf(answer)).toMatch(/^\d+\n$/);
    expect(answer.durationMs).toBeLessThan(30_000);
    await world.sandbox.exec(`kill ${Number(textOf(answer))}`);
  });

  test('that is not there is told as such, with what to do', async () => {
    const answer = await run('bash', { command: 'true', env: { PATH: '/nowhere' } });
    expect(answer).toMatchObject({ exitCode: 127, error: { code: 'tool_not_available' } });
    expect(answer.error?.hint).toContain('`bash`');
  });

  test('limits of its resources are those of its processes', async () => {
    const limits = { command: 'ulimit -v; ulimit -t; ulimit -n' };
    const answer = await run('bash', limits, { resources: { memoryMiB: 512, cpuSeconds: 7, openFiles: 50 } });
    expect(textOf(answer)).toBe('524288\n7\n50\n');
    const busy = await run('bash', { command: 'while :; do :; done' }, { resources: { cpuSeconds: 1 } });
    expect(busy).toMatchObject({ exitCode: 128 + 24, timedOut: false });
  });
});

describe.skipIf(reason !== undefined)('git', () => {
  const author = { name: 'Ada', email: 'ada@example.org' };

  test('a repository is made, changed, committed, pushed and pulled', async () => {
    await run('bash', { command: 'git init -q --bare -b main origin.git && git init -q -b main one', cwd: at() });
    const one = at('one');
    await run('write_file', { path: join(one, 'a.txt'), content: 'first\n' });
    expect(textOf(await run('git_status', { path: one }))).toContain('?? a.txt');
    expect(await run('git_add', { path: one })).toMatchObject({ exitCode: 0, tier: 2 });
    expect(textOf(await run('git_diff', { path: one, staged: true }))).toContain('+first');
    expect(await run('git_commit', { path: one, message: '--help is text', author })).toMatchObject({ exitCode: 0 });
    const log = await run('git_log', { path: one, limit: 1 });
    expect(log.tier).toBe(1);
    expect(textOf(log)).toMatch(/Author: Ada <ada@example.org>[\s\S]*--help is text/);
    expect(textOf(await run('git_show', { path: one }))).toContain('+first');
    expect(textOf(await run('git_show', { path: one, file: 'a.txt' }))).toBe('first\n');
    expect(await run('git_push', { path: one, remote: at('origin.git') })).toMatchObject({ exitCode: 0 });
    expect(await run('git_clone', { url: at('origin.git'), path: at('two') })).toMatchObject({ exitCode: 0 });
    await run('edit_file', { path: at('two/a.txt'), edits: [{ oldText: 'first', newText: 'second' }] });
    expect(textOf(await run('git_diff', { path: at('two'), paths: ['a.txt'] }))).toContain('-first\n+second');
    expect(textOf(await run('git_diff', { path: at('two'), stat: true }))).toContain('1 file changed');
    await run('git_commit', { path: at('two'), message: 'second', all: true, author });
    expect(await run('git_push', { path: at('two') })).toMatchObject({ exitCode: 0 });
    const pulled = await run('git_pull', { path: one, remote: at('origin.git'), branch: 'main' });
    expect(pulled).toMatchObject({ exitCode: 0 });
    expect(textOf(await run('git_log', { path: one, ref: 'HEAD~1..HEAD' }))).toContain('second');
    expect(await run('git_fetch', { path: at('two'), prune: true })).toMatchObject({ exitCode: 0 });
  });

  test('what git refuses is its answer with its exit code', async () => {
    const answer = await run('git_status', { path: at() });
    expect(answer).toMatchObject({ exitCode: 128, error: null });
    expect(textOf(answer)).toContain('not a git repository');
    expect(await run('git_clone', { url: at('nowhere.git'), path: at('x') })).toMatchObject({ exitCode: 128 });
  });
});

describe.skipIf(reason !== undefined)('a request', () => {
  test('for an unknown tool is told which there are', async () => {
    const { status, body } = await post({ tool: 'rm_rf' });
    expect({ status, code: body.code }).toEqual({ status: 404, code: 'tool_not_found' });
    expect(body.context.tools).toEqual(toolNames);
  });

  test.each<[string, object, string]>([
    ['without what the tool needs', { tool: 'read_file' }, 'params.path'],
    ['with what it does not know', { tool: 'glob', params: { pattern: '*', regex: true } }, 'params.regex'],
    ['with an option as a name', { tool: 'git_log', params: { ref: '--output=/tmp/x' } }, 'params.ref'],
    ['with half a range', { tool: 'git_diff', params: { to: 'HEAD' } }, 'params.to'],
    ['with a limit on nothing', { tool: 'glob', params: { pattern: '*' }, resources: { memoryMiB: 1 } }, 'resources'],
    ['with a limit that cannot be kept', { tool: 'bash', resources: { cpus: 1 } }, 'resources.cpus'],
    ['that may take for ever', { tool: 'bash', timeoutSeconds: 4_000 }, 'timeoutSeconds'],
  ])('%s is refused with its place', async (_, body, path) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'request_invalid' } });
    expect(answer.body.problems.map((problem: { path: string }) => problem.path)).toContain(path);
  });

  test('is refused in the same way when its answer would be a stream', async () => {
    const headers = { accept: 'text/event-stream' };
    const path = `/v1/sandboxes/${world.sandbox.id}/tools`;
    const body = { tool: 'nope', callId: 'x' };
    expect(await call(world.server.url, 'POST', path, { body, headers })).toMatchObject({ status: 404 });
  });

  test('lists every tool with its schema', async () => {
    const listed = await world.caisson.tools();
    expect(listed.map(({ name }) => name)).toEqual(toolNames);
  });
});

describe.skipIf(reason !== undefined)('a call id', () => {
  const counting = (file: string) => ({ command: `echo x >> ${at(file)}; sleep 0.4; wc -l < ${at(file)}` });

  test('that is repeated gets the first answer and runs nothing', async () => {
    const first = await run('bash', counting('again'), { callId: 'again' });
    expect(await run('bash', counting('again'), { callId: 'again' })).toEqual(first);
    expect(readFileSync(at('again'), 'utf8')).toBe('x\n');
  });

  test('that is used by many at once runs once, and each hears of it', async () => {
    const heard: string[] = [];
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        run('bash', counting('many'), { callId: 'many', onProgress: ({ text }) => heard.push(text.trim()) }),
      ),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(heard).toEqual(['1', '1', '1', '1', '1']);
    expect(readFileSync(at('many'), 'utf8')).toBe('x\n');
  });

  test('is refused with another request, while it runs and afterwards', async () => {
    const running = run('bash', counting('other'), { callId: 'other' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const wrong = () => run('bash', { command: 'true' }, { callId: 'other' });
    await expect(wrong()).rejects.toMatchObject({ code: 'tool_call_reused' });
    await running;
    await expect(wrong()).rejects.toMatchObject({ code: 'tool_call_reused' });
  });

  test('belongs to its sandbox', async () => {
    const other = await world.caisson.sandboxes.create();
    await run('bash', counting('own'), { callId: 'own' });
    await other.tools.run('bash', counting('own'), { callId: 'own' });
    expect(readFileSync(at('own'), 'utf8')).toBe('x\nx\n');
    await other.destroy();
  });

  test('whose caller left is answered when asked again', async () => {
    const left = new AbortController();
    const leaving = run('bash', counting('left'), { callId: 'left', signal: left.signal });
    setTimeout(() => left.abort(new Error('gone')), 100);
    await expect(leaving).rejects.toThrow('gone');
    expect(textOf(await run('bash', counting('left'), { callId: 'left' }))).toBe('1\n');
    expect(readFileSync(at('left'), 'utf8')).toBe('x\n');
  });
});
