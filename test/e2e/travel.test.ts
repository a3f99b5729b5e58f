import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { poolsOf } from '../chaos/leftovers.ts';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';
import { slowness } from '../slowness.ts';
import { sh, treeSum } from './tree-sum.ts';

const persistent = { ...spec, runtime: { ...spec.runtime, persistence: 'persistent' } };

describe.each(['overlay', 'btrfs'] as const)('time travel on %s', (storage) => {
  const world = new SandboxWorld({ storage });
  const make = (more: object = {}) => world.client().sandboxes.create({ spec, ...more });
  const write = (sandbox: SandboxHandle, name: string, text: string) => sandbox.files.write(`/workspace/${name}`, text);
  const read = (sandbox: SandboxHandle, name: string) => sandbox.files.readText(`/workspace/${name}`);
  const snapshots = () => world.client().snapshots;

  beforeAll(async () => {
    if (whyNoSandboxes === undefined) await world.start();
  }, 120_000);
  afterAll(() => world.close());
  beforeEach((context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  });

  // The way to a snapshot is the same on every storage; one of them waits for a lease to end.
  const leaseEnds = storage === 'overlay' ? (['snapshot-then-destroy'] as const) : [];
  test.each(leaseEnds)('a lease that ends with %s leaves a snapshot, and no sandbox', async (atExpiry) => {
    const sandbox = await make({ ttlSeconds: 3 * slowness, atExpiry });
    await write(sandbox, 'work', 'of an hour');
    await expect.poll(async () => (await sandbox.refresh()).state, { timeout: 30_000 * slowness }).toBe('destroyed');
    expect(sandbox.record.reason?.code).toBe('expired');
    const [kept, ...more] = (await snapshots().page({ sandbox: sandbox.id })).items;
    expect(more).toEqual([]);
    expect(kept).toMatchObject({ kind: 'named', labels: { 'lease-end': sandbox.record.expiresAt } });
    const restored = await snapshots().restore(kept?.id ?? '', {});
    expect(await read(restored, 'work')).toBe('of an hour');
    await restored.destroy();
    await snapshots().delete(kept?.id ?? '');
  });

  test('the server keeps its files where it was told to', async () => {
    const [pool = ''] = poolsOf(world.folder).slice(-1);
    expect(pool.endsWith(storage === 'btrfs' ? 'pool' : 'btrfs')).toBe(true);
  });

  test('a rollback gives the tree of the snapshot, whatever was done since, and nothing of later ones is lost', async () => {
    const sandbox = await make();
    await sh(
      sandbox,
      'cd /workspace; mkdir -p a/b; echo 1 >a/b/f; ln -s f a/b/l; printf x >"odd name"; chmod 4751 a/b/f',
    );
    await sh(
      sandbox,
      'cd /workspace; mknod p p; ln a/b/f a/hard; chown 77:88 "odd name"; rm /etc/hosts; echo x >/etc/new',
    );
    const before = { workspace: await treeSum(sandbox), etc: await treeSum(sandbox, '/etc') };
    const one = await sandbox.turnComplete();
    await sh(sandbox, 'cd /workspace; rm -rf a; mkdir a; echo 2 >a/g; mv "odd name" c; echo 127.0.0.1 me >/etc/hosts');
    const after = { workspace: await treeSum(sandbox), etc: await treeSum(sandbox, '/etc') };
    const two = await sandbox.turnComplete();
    expect([one, two]).toMatchObject([
      { kind: 'turn', name: 'turn-0001', turn: 1, parent: null },
      { kind: 'turn', name: 'turn-0002', turn: 2, parent: one.id },
    ]);
    await sandbox.rollback('turn-0001');
    expect(sandbox.record).toMatchObject({ state: 'ready', head: one.id, rollbackTo: null, incarnation: 1 });
    expect({ workspace: await treeSum(sandbox), etc: await treeSum(sandbox, '/etc') }).toEqual(before);
    const three = await sandbox.turnComplete();
    expect(three).toMatchObject({ name: 'turn-0003', parent: one.id });
    await sandbox.rollback(two.id);
    expect({ workspace: await treeSum(sandbox), etc: await treeSum(sandbox, '/etc') }).toEqual(after);
    await sandbox.destroy();
  });

  test('processes end with a rollback, and whoever waits learns why', async () => {
    const sandbox = await make();
    await sandbox.snapshot({ name: 'start' });
    const waiting = sandbox.exec('sleep 60').catch((error) => error.code);
    const process = await sandbox.processes.start('sleep 60');
    const following = process.wait().catch((error) => error.code);
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const reading = sandbox.run('sleep 60', { onStart: () => begun() }).catch((error) => error.code);
    await hasBegun;
    const watching = sandbox.files.watch('/workspace');
    await watching.next();
    const next = watching.next().catch((error) => error.code);
    await sandbox.rollback('start');
    expect(await waiting).toBe('rollback_in_progress');
    expect(await following).toBe('rollback_in_progress');
    expect(await reading).toBe('rollback_in_progress');
    expect(await next).not.toMatchObject({ done: true });
    await expect(sandbox.processes.get(process.id)).rejects.toMatchObject({ code: 'process_not_found' });
    expect(await sh(sandbox, 'pgrep -x sleep || echo none')).toBe('none');
    await sandbox.destroy();
  });

  test('new work is refused while a rollback is on its way', async () => {
    const sandbox = await make();
    await sh(sandbox, 'dd if=/dev/urandom of=/workspace/big bs=1M count=48 status=none');
    await sandbox.snapshot({ name: 'big' });
    await sandbox.rollback('big', { waitSeconds: 0 });
    expect(sandbox.state).toBe('rolling_back');
    const refused = { code: 'rollback_in_progress', retryable: true };
    await Promise.all(
      [
        sandbox.exec('true'),
        sandbox.snapshot(),
        sandbox.turnComplete(),
        sandbox.rollback('big'),
        sandbox.fork(),
        sandbox.stop(),
        sandbox.files.list('/workspace'),
      ].map((one) => expect(one).rejects.toMatchObject(refused)),
    );
    expect((await sandbox.refresh()).record).toMatchObject({ state: 'rolling_back', turn: 0 });
    await sandbox.untilSettled();
    expect((await sandbox.refresh()).state).toBe('ready');
    await sandbox.destroy();
  });

  test.each(['paused', 'failed', 'stopped'] as const)(
    'one that is %s keeps its files and goes back to them',
    async (state) => {
      const sandbox = await make({ spec: persistent });
      await write(sandbox, 'f', 'one');
      await sandbox.snapshot({ name: 'one' });
      await write(sandbox, 'f', 'two');
      if (state === 'paused') await sandbox.pause();
      if (state === 'stopped') await sandbox.stop();
      if (state === 'failed') {
        process.kill(await world.note(sandbox), 'SIGKILL');
        for await (const { data } of sandbox.events({ after: 0, signal: AbortSignal.timeout(15_000) }))
          if (data.to === 'failed') break;
        await sandbox.refresh();
      }
      expect(sandbox.state).toBe(state);
      if (state === 'failed') await expect(sandbox.snapshot()).rejects.toMatchObject({ code: 'sandbox_failed' });
      else await sandbox.snapshot({ name: 'two' });
      expect((await sandbox.refresh()).state).toBe(state);
      if (state === 'stopped') {
        await expect(sandbox.rollback('one')).rejects.toMatchObject({ code: 'sandbox_stopped' });
        await sandbox.start();
      }
      await sandbox.rollback('one');
      expect(sandbox.record).toMatchObject({ state: 'ready', reason: null });
      expect(await read(sandbox, 'f')).toBe('one');
      if (state !== 'failed') {
        await sandbox.rollback('two');
        expect(await read(sandbox, 'f')).toBe('two');
      }
      await sandbox.destroy();
    },
  );

  test('one that was stopped and keeps nothing has nothing to be kept', async () => {
    const sandbox = await make();
    await sandbox.stop();
    await expect(sandbox.snapshot()).rejects.toMatchObject({ code: 'sandbox_stopped' });
    expect((await snapshots().page({ sandbox: sandbox.id })).items).toEqual([]);
    await sandbox.destroy();
  });

  test('a snapshot is restored when its sandbox is gone, and the restored one needs it no more', async () => {
    const origin = await make({ spec: persistent });
    await write(origin, 'f', 'kept');
    const sum = await treeSum(origin);
    const kept = await origin.snapshot({ name: 'kept', labels: { why: 'test' } });
    await origin.destroy();
    expect(await snapshots().get(kept.id)).toMatchObject({ name: 'kept', sandbox: origin.id, labels: { why: 'test' } });
    const restored = await snapshots().restore(kept.id, { name: 'again', labels: { a: 'b' }, ttlSeconds: 600 });
    expect(restored.record).toMatchObject({
      state: 'ready',
      name: 'again',
      labels: { a: 'b' },
      persistence: 'persistent',
      origin: { sandbox: origin.id, snapshot: kept.id },
      turn: 0,
    });
    await snapshots().delete(kept.id);
    await expect(snapshots().get(kept.id)).rejects.toMatchObject({ code: 'snapshot_not_found' });
    await expect(snapshots().restore(kept.id)).rejects.toMatchObject({ code: 'snapshot_not_found' });
    expect(await treeSum(restored)).toBe(sum);
    const turn = await restored.turnComplete();
    expect(turn).toMatchObject({ name: 'turn-0001', sandbox: restored.id });
    await write(restored, 'f', 'changed');
    await restored.rollback(turn.id);
    expect(await treeSum(restored)).toBe(sum);
    await write(restored, 'g', 'own');
    await restored.stop();
    await restored.start();
    expect(await read(restored, 'g')).toBe('own');
    await restored.recreate();
    expect(restored.record).toMatchObject({ state: 'ready', incarnation: 2 });
    expect(restored.record.notices.join()).toContain('is gone: it begins from its image');
    await restored.destroy();
    await snapshots().delete(turn.id);
  });

  test('a restored sandbox that goes back to where it came from stays itself, and nobody takes a fork for it', async () => {
    const origin = await make({ spec: persistent });
    await sh(origin, 'mkdir -p /etc/ssh/ssh_host_keys.d; echo key >/etc/ssh/ssh_host_keys.d/one');
    const kept = await origin.snapshot();
    const restored = await snapshots().restore(kept.id);
    const machine = await sh(restored, 'cat /etc/machine-id');
    await write(restored, 'f', 'later');
    await restored.rollback(kept.id);
    expect(await sh(restored, 'cat /etc/machine-id; ls /etc/ssh')).toBe(machine);
    const [fork] = await restored.fork();
    const ensured = await world.client().sandboxes.ensure({ spec: persistent, name: 'ensured' });
    const [other] = await ensured.fork();
    expect((await world.client().sandboxes.ensure({ spec: persistent, name: 'ensured' })).id).toBe(ensured.id);
    const all = [origin, restored, fork, ensured, other];
    await Promise.all(all.map((one) => one?.destroy()));
    await snapshots().delete(kept.id);
  });

  test('one that is recreated begins from the snapshot it came from, while that is there', async () => {
    const origin = await make();
    await write(origin, 'f', 'kept');
    const kept = await origin.snapshot();
    const restored = await snapshots().restore(kept.id);
    await write(restored, 'f', 'changed');
    await restored.recreate();
    expect(await read(restored, 'f')).toBe('kept');
    await Promise.all([origin.destroy(), restored.destroy()]);
  });

  test('forks begin with the same files and share nothing else', async () => {
    const origin = await make({ name: 'mother', labels: { a: 'b' } });
    await write(origin, 'f', 'same');
    await sh(origin, 'mkdir -p /etc/ssh; echo key >/etc/ssh/ssh_host_ed25519_key; echo kept >/etc/ssh/sshd_config');
    const running = await origin.processes.start('sleep 60');
    const sum = await treeSum(origin);
    const forks = await origin.fork({ count: 3, labels: { c: 'd' } });
    const all = [origin, ...forks];
    expect((await running.refresh()).running).toBe(true);
    expect((await snapshots().page({ sandbox: origin.id })).items).toEqual([]);
    for (const fork of forks) {
      expect(fork.record).toMatchObject({ state: 'ready', name: null, labels: { c: 'd' }, turn: 0 });
      expect((await fork.refresh()).record.head).toBeNull();
      expect(fork.record.origin?.sandbox).toBe(origin.id);
      expect(await treeSum(fork)).toBe(sum);
      expect(await sh(fork, 'ls /etc/ssh; pgrep -x sleep || echo none')).toBe('sshd_config\nnone');
    }
    for (const look of ['cat /etc/machine-id', 'hostname', 'cat /proc/sys/kernel/hostname']) {
      const seen = await Promise.all(all.map((one) => sh(one, look)));
      expect(new Set(seen).size, look).toBe(all.length);
    }
    await write(forks[0] as SandboxHandle, 'f', 'other');
    expect(await treeSum(origin)).toBe(sum);
    await origin.destroy();
    expect(await Promise.all(forks.map((one) => read(one, 'f')))).toEqual(['other', 'same', 'same']);
    await Promise.all(forks.map((one) => one.destroy()));
  });

  test('two files that are written in step are never torn by more than a step', async () => {
    const sandbox = await make();
    const loop = 'i=0; while :; do i=$((i+1)); echo $i >a.new; mv a.new a; echo $i >b.new; mv b.new b; done';
    const writer = await sandbox.processes.start(`cd /workspace; ${loop}`, { user: 'root' });
    const filler = await sandbox.processes.start(
      'cd /workspace; while :; do dd if=/dev/zero of=filler bs=64k count=64 status=none; done',
      { user: 'root' },
    );
    await sh(sandbox, 'while ! test -s /workspace/b; do sleep 0.01; done');
    let last = 0;
    const kept = [];
    for (let round = 0; round < 5; round += 1) kept.push(await sandbox.snapshot());
    await writer.signal('SIGKILL');
    await filler.signal('SIGKILL');
    for (const one of kept) {
      const restored = await snapshots().restore(one.id);
      const [a, b] = (await sh(restored, 'cd /workspace; cat a b')).split('\n').map(Number) as [number, number];
      expect(a - b, `${a} and ${b}`).toBeGreaterThanOrEqual(0);
      expect(a - b, `${a} and ${b}`).toBeLessThanOrEqual(1);
      expect(a).toBeGreaterThanOrEqual(last);
      last = a;
      await restored.destroy();
    }
    await sandbox.destroy();
  });

  test('the oldest turns go first, named ones never, and numbers go on', async () => {
    const sandbox = await make({ snapshots: { keepTurns: 3 } });
    const named = await sandbox.snapshot({ name: 'mine' });
    const turns = [];
    for (let turn = 1; turn <= 3; turn += 1) turns.push(await sandbox.turnComplete());
    const [first] = turns;
    await snapshots().label(first?.id ?? '', { name: 'saved', labels: { a: '1' } });
    for (let turn = 4; turn <= 6; turn += 1) turns.push(await sandbox.turnComplete());
    const names = async () => (await snapshots().page({ sandbox: sandbox.id })).items.map(({ name }) => name).reverse();
    await expect.poll(names).toEqual(['mine', 'saved', 'turn-0004', 'turn-0005', 'turn-0006']);
    expect(await snapshots().get(first?.id ?? '')).toMatchObject({ kind: 'named', turn: 1, labels: { a: '1' } });
    await sandbox.rollback(named.id);
    for (const { id } of turns.slice(3)) await snapshots().delete(id);
    expect((await sandbox.turnComplete()).name).toBe('turn-0007');
    await sandbox.recreate();
    expect((await sandbox.turnComplete()).name).toBe('turn-0008');
    await sandbox.destroy();
  });

  test('the tree stays a tree when snapshots are removed, and the space of each is told', async () => {
    const sandbox = await make();
    await sh(sandbox, 'dd if=/dev/urandom of=/workspace/big bs=1M count=3 status=none; sync');
    const [one, two, three] = [await sandbox.snapshot(), await sandbox.snapshot(), await sandbox.snapshot()];
    const { exclusiveBytes } = await snapshots().get(three.id);
    // All three hold the same bytes: where they are shared, removing one of them gives nothing back.
    if (storage === 'btrfs') expect(exclusiveBytes).toBeLessThan(1_000_000);
    else expect(exclusiveBytes).toBeGreaterThan(3_000_000);
    const sizes = (await snapshots().page({ sandbox: sandbox.id, usage: true })).items.map(
      (item) => item.exclusiveBytes,
    );
    expect(sizes.every((bytes) => bytes !== null)).toBe(true);
    await snapshots().delete(two.id);
    expect((await snapshots().get(three.id)).parent).toBe(one.id);
    await snapshots().delete(three.id);
    expect((await sandbox.refresh()).record.head).toBe(one.id);
    expect((await sandbox.snapshot()).parent).toBe(one.id);
    await sandbox.destroy();
  });

  test('nothing is left of any of it', async () => {
    const { sandboxes } = world.client();
    await world.noteAll();
    for await (const { id } of snapshots().list()) await snapshots().delete(id);
    expect((await sandboxes.page()).items).toEqual([]);
    await world.stop();
    expect(await world.leftovers()).toEqual([]);
  });
});
