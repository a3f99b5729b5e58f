import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';

const persistent = { ...spec, runtime: { ...spec.runtime, persistence: 'persistent' } };

describe('the network rules of a real sandbox', () => {
  const world = new SandboxWorld();
  const rulesOf = async (sandbox: SandboxHandle | undefined) => {
    const { revision: _, isChanged: __, ...rules } = (await sandbox?.network.get()) ?? {};
    return rules;
  };

  beforeAll(async () => {
    if (whyNoSandboxes === undefined) await world.start();
  }, 120_000);
  afterAll(() => world.close());
  beforeEach((context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  });

  test('hold across rollback, fork, restore and a killed server', { timeout: 120_000 }, async () => {
    const origin = await world.client().sandboxes.create({ spec: persistent });
    const before = await origin.snapshot({ name: 'before' });
    const [unchanged] = await origin.fork();
    await origin.network.set({ mode: 'allowlist', allow: ['npm'], deny: ['a.example'], limits: { connections: 3 } });
    const rules = await rulesOf(origin);
    expect(rules).toMatchObject({ mode: 'allowlist', allow: ['preset:npm'] });

    await origin.rollback('before');
    expect(await rulesOf(origin)).toEqual(rules);
    expect((await unchanged?.network.get())?.revision).toBe(0);
    const [fork] = await origin.fork();
    expect(await fork?.network.get()).toMatchObject({ ...rules, isChanged: true });
    await origin.destroy();
    const restored = await world.client().snapshots.restore(before.id);
    expect(await rulesOf(restored)).toEqual(rules);

    await world.kill();
    await world.start();
    const again = await world.client().sandboxes.get(restored.id);
    expect(await rulesOf(again)).toEqual(rules);
    await again.network.deny('b.example');
    expect((await (await world.client().sandboxes.get(fork?.id ?? '')).network.get()).deny).toEqual(['a.example']);
    await world.destroyAll();
  });
});
