import type { Sandbox, ToolAnswer, ToolDescription } from '@caisson/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { CliWorld } from './cli-world.ts';

const isRoot = process.getuid?.() === 0;
const env = { CAISSON_DRIVERS: 'oci' };
const spec = 'source: {kind: none}\nos: host\nruntime: {network: {mode: off}}\n';

describe('tools and pauses on the command line', () => {
  const world = new CliWorld();
  const run = (args: readonly string[], options: { stdin?: string } = {}) => world.run(args, { ...options, env });
  const tool = (...args: string[]) => run(['tool', 'run', 'web', ...args]);

  beforeAll(async () => {
    if (!isRoot) return;
    const policy = ['--auto-pause', '1h', '--auto-resume', '--keep-turns', '7', '--snapshot-tools'];
    const made = await run(['create', '--spec', '-', '--name', 'web', ...policy], { stdin: spec });
    if (made.code !== 0) throw new Error(made.err);
  }, 120_000);
  afterAll(async () => {
    if (isRoot) {
      await run(['destroy', 'web']);
      await run(['stop-server']);
    }
    await world.close();
  }, 120_000);
  beforeEach((context) => {
    if (!isRoot) skip(context, 'a real sandbox needs root');
  });

  test('what a sandbox does by itself is asked for with flags', async () => {
    const { policy } = await world.json<Sandbox>(['get', 'web'], env);
    expect(policy).toEqual({ keepTurns: 7, perTool: true, autoPauseSeconds: 3_600, autoResume: true });
    expect((await run(['get', 'web'])).out).toMatch(/^by itself +paused after 3600 s without use, resumed by use/m);
  });

  test('the list names every tool and what it takes', async () => {
    const { items } = await world.json<{ items: ToolDescription[] }>(['tool', 'list'], env);
    expect(items.map(({ name }) => name)).toContain('git_clone');
    expect((await run(['tool', 'list'])).out).toMatch(/^read_file +1 +path \[firstLine\] \[lines\] +The content/m);
  });

  test('a tool is run, its content printed, its snapshot told and its exit code ours', async () => {
    const written = await tool('write_file', 'path=a.txt', 'content=12\n34\n');
    expect(written).toMatchObject({ code: 0, out: 'wrote 6 bytes to a.txt\n' });
    expect(written.err).toMatch(/^snapshot snp/m);
    expect(await tool('read_file', 'path=a.txt', 'firstLine=2')).toMatchObject({ code: 0, out: '34\n', err: '' });
    const edits = 'edits=[{"oldText":"34","newText":"56"}]';
    expect(await tool('edit_file', 'path=a.txt', edits, '--no-snapshot')).toMatchObject({ code: 0, err: '' });
    expect(await tool('grep', 'pattern=5.', 'limit=1')).toMatchObject({ out: 'a.txt:2:56\n' });
    expect(await tool('bash', 'command=echo out; exit 4', '--no-snapshot')).toMatchObject({ code: 4, out: 'out\n' });
    const late = await tool('bash', 'command=sleep 30', '--timeout', '1', '--no-snapshot');
    expect(late).toMatchObject({ code: 124, err: expect.stringContaining('its time was up') });
    const followed = await tool('bash', 'command=echo now', '--follow', '--no-snapshot');
    expect(followed).toMatchObject({ out: 'now\n', err: 'now\n' });
    const limited = await tool('bash', 'command=ulimit -n', '--open-files', '33', '--no-snapshot');
    expect(limited.out).toBe('33\n');
  }, 120_000);

  test('params come as JSON too, and the answer goes as JSON', async () => {
    const params = JSON.stringify({ command: 'cat', stdin: 'hello' });
    const { out } = await run(['tool', 'run', 'web', 'bash', '--params', '-', '--call-id', 'c1', '--json'], {
      stdin: params,
    });
    const answer = JSON.parse(out) as ToolAnswer;
    expect(answer).toMatchObject({ callId: 'c1', content: [{ type: 'text', text: 'hello' }], exitCode: 0 });
    const again = await run(['tool', 'run', 'web', 'bash', '--params', params, '--call-id', 'c1', '--json']);
    expect(JSON.parse(again.out)).toEqual(answer);
  });

  test('what is wrong is told with its code', async () => {
    expect(await tool('rm_rf')).toMatchObject({ code: 66, err: expect.stringContaining('git_clone') });
    expect(await tool('read_file', 'path=none')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('code: file_not_found'),
    });
    expect(await tool('read_file', 'file=a.txt')).toMatchObject({
      code: 65,
      err: expect.stringContaining('params.file'),
    });
  });

  test('a pause drains for as long as it is told, and use resumes', async () => {
    const slow = world.start(['tool', 'run', 'web', 'bash', 'command=sleep 1; echo done', '--no-snapshot'], { env });
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await run(['pause', 'web', '--drain', '20s'])).code).toBe(0);
    expect(await slow.done).toMatchObject({ code: 0, out: 'done\n' });
    expect(await world.json(['get', 'web'], env)).toMatchObject({ state: 'paused' });
    expect(await tool('glob', 'pattern=*')).toMatchObject({ code: 0, out: 'a.txt\n' });
    expect(await world.json(['get', 'web'], env)).toMatchObject({ state: 'ready' });
  });
});
