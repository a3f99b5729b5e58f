import type { Sandbox, Snapshot } from '@caisson/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { CliWorld } from './cli-world.ts';

const isRoot = process.getuid?.() === 0;
const env = { CAISSON_DRIVERS: 'oci' };
const spec = 'source: {kind: none}\nos: host\nruntime: {network: {mode: off}}\n';

describe('time travel by commands', () => {
  const world = new CliWorld();
  const run = (args: readonly string[], stdin = '') => world.run(args, { stdin, env });
  const json = <T>(args: readonly string[]) => world.json<T>(args, env);
  const write = (text: string) => run(['write', 'web', '/workspace/f'], text);
  const read = async (ref = 'web') => (await run(['cat', ref, '/workspace/f'])).out;

  beforeAll(async () => {
    if (!isRoot) return;
    const made = await run(['create', '--spec', '-', '--name', 'web'], spec);
    if (made.code !== 0) throw new Error(made.err);
  }, 120_000);
  afterAll(async () => {
    if (isRoot) {
      for (const { id } of (await json<{ items: Sandbox[] }>(['list'])).items) await run(['destroy', id]);
      await run(['stop-server']);
    }
    await world.close();
  }, 120_000);
  beforeEach((context) => {
    if (!isRoot) skip(context, 'a real sandbox needs root');
  });

  test('turns end, are gone back to, and the past is a tree', { timeout: 120_000 }, async () => {
    expect(await run(['history', 'web'])).toMatchObject({ code: 0, out: expect.stringContaining('no snapshots yet') });
    await write('one');
    expect(await run(['turn-complete', 'web', '-l', 'task=first'])).toMatchObject({ code: 0, out: 'turn-0001\n' });
    await write('two');
    expect(await json<Snapshot>(['turn-complete', 'web'])).toMatchObject({ kind: 'turn', name: 'turn-0002', turn: 2 });
    const back = await run(['rollback', 'web', 'turn-0001']);
    expect(back).toMatchObject({ code: 0, out: expect.stringMatching(/^sbx\w+\n$/) });
    expect(await read()).toBe('one');
    expect((await run(['turn-complete', 'web'])).out).toBe('turn-0003\n');
    const { out } = await run(['history', 'web']);
    const lines = out.trimEnd().split('\n');
    expect(lines.map((line) => line.split('  ')[0])).toEqual(['turn-0001', '├─ turn-0002', '╰─ turn-0003', '']);
    expect(lines[0]).toContain('task=first');
    expect(lines.at(-1)?.trim()).toBe('now');
    const history = await json<{ sandbox: Sandbox; snapshots: Snapshot[] }>(['history', 'web']);
    expect(history.snapshots.map(({ name }) => name)).toEqual(['turn-0003', 'turn-0002', 'turn-0001']);
    expect(history.sandbox).toMatchObject({ name: 'web', turn: 3, head: history.snapshots[0]?.id });
  });

  test('snapshots are made, listed, shown, labelled and removed', { timeout: 120_000 }, async () => {
    const made = await run(['snapshot', 'web', '-n', 'mine', '-l', 'a=b']);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^snp\w+\n$/) });
    const id = made.out.trim();
    expect((await run(['snapshot', 'web', '-n', 'mine'])).err).toContain('code: snapshot_exists');
    expect((await run(['snapshot', 'web', '-n', 'turn-0007'])).code).not.toBe(0);
    const table = (await run(['snapshots', 'list', 'web', '--kind', 'named', '--usage'])).out.split('\n');
    expect(table[0]).toMatch(/^ID +NAME +KIND +SANDBOX +PARENT +SPACE +CREATED$/);
    expect(table[1]).toMatch(new RegExp(`^${id} +mine +named +sbx`));
    expect((await json<{ items: Snapshot[] }>(['snapshots', 'list', '--limit', '1'])).items).toHaveLength(1);
    const shown = await run(['snapshots', 'get', 'web:mine']);
    expect(shown.out).toMatch(/name +mine/);
    expect(shown.out).toMatch(/label +a=b/);
    expect((await json<Snapshot>(['snapshots', 'get', id])).exclusiveBytes).toBeGreaterThanOrEqual(0);
    const labelled = await json<Snapshot>(['snapshots', 'label', 'web:mine', '-n', 'yours', '-l', 'c=d']);
    expect(labelled).toMatchObject({ id, name: 'yours', labels: { c: 'd' } });
    expect(await run(['snapshots', 'delete', 'web:yours'])).toMatchObject({ code: 0, out: `${id}\n` });
    expect((await run(['snapshots', 'get', 'nobody:x'])).err).toContain('One that is gone goes by its id');
    for (const ref of ['web:yours', id, 'nobody:x', 'x']) {
      const { code, err } = await run(['snapshots', 'get', ref]);
      expect(code, ref).not.toBe(0);
      expect(err, ref).toMatch(/code: (snapshot|sandbox)_not_found/);
    }
  });

  test('new sandboxes begin from a snapshot, and from a live one', { timeout: 120_000 }, async () => {
    await write('kept');
    await run(['snapshot', 'web', '-n', 'kept']);
    const restored = await run(['restore', 'web:kept', '--name', 'again', '--ttl', '1h']);
    expect(restored).toMatchObject({ code: 0, out: expect.stringMatching(/^sbx\w+\n$/) });
    expect(await read('again')).toBe('kept');
    await write('live');
    const forked = await run(['fork', 'web', '--count', '2', '-l', 'who=fork']);
    const ids = forked.out.trim().split('\n');
    expect(ids).toHaveLength(2);
    expect(await Promise.all(ids.map(read))).toEqual(['live', 'live']);
    const { items } = await json<{ items: Sandbox[] }>(['fork', 'again']);
    expect(items).toMatchObject([{ state: 'ready', name: null }]);
    expect((await run(['fork', 'web', '--count', '0'])).code).not.toBe(0);
    expect((await run(['fork', 'web', '--count', '1000'])).err).toContain('code: request_invalid');
  });

  test('what cannot be gone back to is told, with what to do', async () => {
    const { code, err } = await run(['rollback', 'web', 'none']);
    expect(code).toBe(66);
    expect(err).toContain('code: snapshot_not_found');
    expect((await run(['rollback', 'nobody', 'none'])).err).toContain('code: sandbox_not_found');
  });
});
