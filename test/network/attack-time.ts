import type { SandboxHandle } from '@caisson/sdk';
import { expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import { held } from './attack-world.ts';
import type { Stage } from './describe-network-attacks.ts';

/** In the moments in which rules could be missing, or be older ones. */
export function attackInTime({ world }: Stage): void {
  const narrow = { mode: 'allowlist' as const, allow: ['ok.test'] };

  test('the rules hold from the first command of a new sandbox', async () => {
    const one = await world.sandbox();
    expect(await world.rulesHold(one)).toEqual(held);
    expect(world.asked).toEqual(['ok.test']);
    await one.destroy();
  });

  test('a member of a warm pool has its rules from the first command after it was claimed', async () => {
    const client = world.client();
    const ready = async () => (await client.pools.list())[0]?.ready;
    await expect.poll(ready, { timeout: 20_000 * slowness }).toBe(1);
    const one = await client.sandboxes.create({ profile: 'warm' });
    expect(await world.rulesHold(one)).toEqual(held);
    // What it was decided by is written down for its owner, and for nobody else.
    expect((await world.journal(one)).map(({ host }) => host)).toEqual(['ok.test', 'bad.test']);
    await client.pools.set('warm', { min: 0, max: 0 });
    await one.destroy();
  });

  test('narrower rules hold across pause, rollback, fork, restore, stop, start and another server', {
    timeout: 120_000,
  }, async () => {
    const origin = await world.sandbox({ mode: 'open', allow: [] }, { persistence: 'persistent' });
    const snapshot = await origin.snapshot({ name: 'open' });
    expect((await world.rulesHold(origin)).bad).toBe(200);
    await origin.network.set(narrow);
    expect(await world.rulesHold(origin)).toEqual(held);

    await origin.pause();
    await origin.resume();
    expect(await world.rulesHold(origin)).toEqual(held);
    await origin.rollback(snapshot.id);
    expect(await world.rulesHold(origin)).toEqual(held);
    const [fork] = (await origin.fork({ count: 1 })) as [SandboxHandle];
    const restored = await world.client().snapshots.restore(snapshot.id);
    expect(await Promise.all([fork, restored].map((one) => world.rulesHold(one)))).toEqual([held, held]);
    await origin.stop();
    await origin.start();
    expect(await world.rulesHold(origin)).toEqual(held);
    await world.restart();
    expect(await world.rulesHold(await world.client().sandboxes.get(origin.id))).toEqual(held);
    await Promise.all(
      [fork, restored, origin].map(async ({ id }) => (await world.client().sandboxes.get(id)).destroy()),
    );
  });

  test('what was open when the rules changed is closed, also when its sandbox stood still meanwhile', async () => {
    const one = await world.sandbox();
    const { outside } = world;
    const usual = outside.answer;
    outside.answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n';
    try {
      const before = new Set(outside.open);
      const own = () => [...outside.open].filter((socket) => !before.has(socket)).length;
      await one.processes.start(['curl', '-sN', `http://${world.ok}/endless`]);
      await expect.poll(() => outside.count('/endless')).toBe(1);
      expect(own()).toBe(1);
      await one.pause();
      await one.network.set({ allow: [] });
      await expect.poll(own).toBe(0);
      await one.resume();
      expect((await world.fetch(one, `http://${world.ok}/`)).text).toMatch(/not_allowed/);
    } finally {
      outside.answer = usual;
      await one.destroy();
    }
  });
}
