import { isTransient, newId, type Snapshot } from '@caisson/contract';
import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';
import { sh, treeSum } from './tree-sum.ts';

const persistent = { ...spec, runtime: { ...spec.runtime, persistence: 'persistent' } };
const rounds = 2;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Whatever meets whatever: both end, none with a defect, and the sandbox stands somewhere that the table knows. */
export function describeTravelRaces(storage: 'overlay' | 'btrfs'): void {
  describe(`races of time travel on ${storage}`, () => races(storage));
}

function races(storage: 'overlay' | 'btrfs'): void {
  const world = new SandboxWorld({ storage });
  const client = () => world.client();

  beforeAll(async () => {
    if (whyNoSandboxes === undefined) await world.start();
  }, 120_000);
  afterAll(() => world.close());
  beforeEach((context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  });

  const make = async (of: Record<string, unknown> = spec, mebibytes = 0) => {
    const sandbox = await client().sandboxes.create({ spec: of });
    await sandbox.files.write('/workspace/f', 'one');
    if (mebibytes > 0) await sh(sandbox, `head -c ${mebibytes}M /dev/urandom >/workspace/big`);
    return sandbox;
  };

  /** The codes with which they ended, in order; `ok` for those that went well. */
  const race = async (...work: (() => Promise<unknown>)[]): Promise<string[]> => {
    const results = await Promise.allSettled(work.map((one) => one()));
    return results.map((one) => (one.status === 'fulfilled' ? 'ok' : String(one.reason.code ?? one.reason)));
  };

  const later = (ms: number, work: () => Promise<unknown>) => async (): Promise<unknown> => {
    await sleep(ms);
    return work();
  };

  const settledState = async (sandbox: SandboxHandle): Promise<string> => {
    const { state } = await (await sandbox.refresh()).untilSettled();
    expect(isTransient(state)).toBe(false);
    return state;
  };

  const listed = async (sandbox: SandboxHandle): Promise<Snapshot[]> => {
    const found: Snapshot[] = [];
    for await (const one of client().snapshots.list({ sandbox: sandbox.id })) found.push(one);
    return found;
  };

  test('many snapshots at once are one line of as many', async () => {
    const sandbox = await make();
    const made = await Promise.all([
      ...Array.from({ length: 10 }, () => sandbox.snapshot()),
      ...Array.from({ length: 10 }, () => sandbox.turnComplete()),
    ]);
    expect(new Set(made.map(({ id }) => id)).size).toBe(20);
    expect(made.flatMap(({ turn }) => turn ?? []).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const parents = (await listed(sandbox)).map(({ parent }) => parent);
    expect(new Set(parents).size).toBe(20);
    expect((await sandbox.exec('echo up')).stdout).toBe('up\n');
    await sandbox.destroy();
  });

  test('of two with one name one is made; of two with one key both are told the same', async () => {
    const sandbox = await make();
    const same = () => sandbox.snapshot({ name: 'same' });
    expect((await race(same, same)).sort()).toEqual(['ok', 'snapshot_exists']);
    const idempotencyKey = newId('request');
    const keyed = await Promise.allSettled(
      Array.from({ length: 3 }, () => sandbox.turnComplete({}, { idempotencyKey })),
    );
    const ids = new Set(keyed.flatMap((one) => (one.status === 'fulfilled' ? one.value.id : [])));
    expect(ids.size).toBe(1);
    expect((await sandbox.turnComplete({}, { idempotencyKey })).id).toBe([...ids][0]);
    expect(await listed(sandbox)).toHaveLength(2);
    await sandbox.destroy();
  });

  test('two rollbacks at once: one is done, the other is told so', async () => {
    const sandbox = await make();
    await sandbox.snapshot({ name: 'a' });
    await sandbox.files.write('/workspace/f', 'two');
    await sandbox.snapshot({ name: 'b' });
    for (let round = 0; round < rounds; round += 1) {
      const codes = await race(
        () => sandbox.rollback('a'),
        () => sandbox.rollback('b'),
      );
      expect(codes).toContain('ok');
      for (const code of codes) expect(['ok', 'rollback_in_progress', 'state_changed']).toContain(code);
      const f = await sandbox.files.readText('/workspace/f');
      if (codes.filter((code) => code === 'ok').length === 1) expect(f).toBe(codes[0] === 'ok' ? 'one' : 'two');
    }
    expect(await settledState(sandbox)).toBe('ready');
    await sandbox.destroy();
  });

  test('a rollback meets a pause, a resume, a stop and a snapshot', async () => {
    const sandbox = await make(persistent);
    await sandbox.snapshot({ name: 'a' });
    for (let round = 0; round < rounds; round += 1) {
      for (const other of ['pause', 'stop', 'snapshot'] as const) {
        const codes = await race(
          later(round * 15, () => sandbox.rollback('a')),
          () => sandbox[other](),
        );
        expect(codes).not.toContain('internal');
        expect(codes, other).toContain('ok');
        const state = await settledState(sandbox);
        expect(['ready', 'paused', 'stopped']).toContain(state);
        if (state === 'paused') await sandbox.resume();
        if (state === 'stopped') await sandbox.start();
        expect(await sandbox.files.readText('/workspace/f')).toBe('one');
      }
    }
    await sandbox.destroy();
  });

  test('a snapshot meets a pause, a stop and a recreate', async () => {
    const sandbox = await make(persistent, 8);
    const sum = await treeSum(sandbox);
    for (let round = 0; round < rounds; round += 1) {
      for (const other of ['pause', 'stop'] as const) {
        const codes = await race(
          () => sandbox.snapshot(),
          later(round * 15, () => sandbox[other]()),
        );
        expect(codes[1], other).toBe('ok');
        expect(['ok', 'sandbox_stopped', 'sandbox_paused'], other).toContain(codes[0]);
        expect(await settledState(sandbox)).toBe(other === 'pause' ? 'paused' : 'stopped');
        await (other === 'pause' ? sandbox.resume() : sandbox.start());
        expect((await sandbox.exec('echo up')).stdout).toBe('up\n');
      }
    }
    const codes = await race(
      () => sandbox.snapshot({ name: 'last' }),
      later(10, () => sandbox.recreate()),
    );
    expect(codes[1]).toBe('ok');
    if (codes[0] === 'ok') {
      const last = (await listed(sandbox)).find(({ name }) => name === 'last');
      const restored = await client().snapshots.restore(last?.id ?? '');
      expect(await treeSum(restored)).toBe(sum);
      await restored.destroy();
    }
    await sandbox.destroy();
  });

  test('a destroy ends the snapshot that is being taken, and what is listed is whole', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const sandbox = await make(spec, 24);
      const sum = await treeSum(sandbox);
      const codes = await race(
        () => sandbox.snapshot(),
        later(round * 25, () => sandbox.destroy()),
      );
      expect(codes[1]).toBe('ok');
      expect(['ok', 'sandbox_destroying', 'sandbox_destroyed']).toContain(codes[0]);
      const kept = await listed(sandbox);
      expect(kept).toHaveLength(codes[0] === 'ok' ? 1 : 0);
      for (const { id } of kept) {
        const restored = await client().snapshots.restore(id);
        expect(await treeSum(restored)).toBe(sum);
        await restored.destroy();
      }
    }
  });

  test('a destroy takes the place of a rollback, and of a restore that is on its way', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const sandbox = await make(spec, 8);
      const { id } = await sandbox.snapshot();
      const restored = await client().snapshots.restore(id, { waitSeconds: 0 });
      const codes = await race(
        () => sandbox.rollback(id),
        later(5 + round * 40, () => sandbox.destroy()),
        later(round * 20, () => restored.destroy()),
      );
      expect(codes.slice(1)).toEqual(['ok', 'ok']);
      expect(['ok', 'action_cancelled']).toContain(codes[0]);
      expect(await settledState(sandbox)).toBe('destroyed');
      expect(await settledState(restored)).toBe('destroyed');
    }
  });

  test('a fork meets a destroy: each of its sandboxes is whole or not there', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const sandbox = await make();
      const sum = await treeSum(sandbox);
      const codes = await race(
        () => sandbox.fork({ count: 2, labels: { round: `${storage}${round}` } }),
        later(round * 20, () => sandbox.destroy()),
      );
      expect(codes[1]).toBe('ok');
      expect(['ok', 'sandbox_destroying', 'sandbox_destroyed']).toContain(codes[0]);
      for await (const fork of client().sandboxes.list({ labels: { round: `${storage}${round}` } })) {
        expect(await settledState(fork)).toBe('ready');
        expect(await treeSum(fork)).toBe(sum);
        await fork.destroy();
      }
    }
  });

  test('a snapshot that is removed while it is used is used to the end, or not at all', async () => {
    const sandbox = await make();
    const sum = await treeSum(sandbox);
    for (let round = 0; round < rounds; round += 1) {
      const { id } = await sandbox.snapshot();
      const [restored, removed] = await Promise.allSettled([
        client().snapshots.restore(id),
        sleep(round * 10).then(() => client().snapshots.delete(id)),
      ]);
      expect(removed.status).toBe('fulfilled');
      if (restored.status === 'fulfilled') expect(await treeSum(restored.value)).toBe(sum);
      else expect(restored.reason).toMatchObject({ code: 'snapshot_not_found' });

      const other = await sandbox.snapshot();
      const codes = await race(
        () => sandbox.rollback(other.id),
        later(round * 5, () => client().snapshots.delete(other.id)),
      );
      expect(codes).not.toContain('internal');
      expect(['ok', 'snapshot_not_found']).toContain(codes[0]);
      expect(await settledState(sandbox), codes.join()).toBe('ready');
      expect(await treeSum(sandbox)).toBe(sum);
    }
    const { id } = await sandbox.snapshot();
    const twice = await race(
      () => client().snapshots.delete(id),
      () => client().snapshots.delete(id),
    );
    expect(twice).toContain('ok');
    for (const code of twice) expect(['ok', 'snapshot_not_found']).toContain(code);
    await sandbox.destroy();
  });

  test('a server that is told to end while it keeps and goes back ends, and the next one goes on', async () => {
    const sandbox = await make(spec, 24);
    const sum = await treeSum(sandbox);
    await sandbox.snapshot({ name: 'a' });
    const keeping = race(() => sandbox.snapshot());
    await sleep(20);
    await world.stop();
    await keeping;
    await world.start();
    expect(await treeSum(sandbox)).toBe(sum);
    const going = race(() => sandbox.rollback('a'));
    await sleep(20);
    await world.stop();
    await going;
    await world.start();
    expect(await settledState(sandbox)).toBe('ready');
    expect(await treeSum(sandbox)).toBe(sum);
    await sandbox.destroy();
  });

  test('nothing is left of any of it', async () => {
    await world.noteAll();
    for await (const one of client().sandboxes.list()) await one.destroy();
    for await (const { id } of client().snapshots.list()) await client().snapshots.delete(id);
    await world.stop();
    expect(await world.leftovers()).toEqual([]);
  });
}
