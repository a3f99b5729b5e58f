import type { CaissonError, Id, NetworkRules, Profile, Sandbox } from '@caisson/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Journal } from '../../packages/server/src/network/journal.ts';
import { SandboxRules } from '../../packages/server/src/network/sandbox-rules.ts';
import { Networks } from '../../packages/server/src/sandbox/networks.ts';
import { ada, bob, boss, type ControlPlane, controlPlane, stranger } from './control-plane.ts';

const network = { mode: 'allowlist', allow: ['npm', 'Example.COM'], limits: { totalMiB: 5 }, secrets: ['token'] };
const spec = { source: { kind: 'none' }, runtime: { network, persistence: 'persistent' } };
const made = { mode: 'allowlist', allow: ['preset:npm', 'example.com'], deny: [], limits: { totalMiB: 5 } };
/** What names secrets is not made ahead. */
const warmSpec = { source: { kind: 'none' }, runtime: { network: { ...network, secrets: [] } } };
const warm: Profile = { name: 'warm', version: 1, sourceRequired: false, spec: warmSpec, pool: { min: 1, max: 1 } };

let plane: ControlPlane;
let journal: Journal;
let networks: Networks;
/** The rules that the way out would find at the moment at which it is told of a change. */
let told: (NetworkRules | undefined)[];

function wire(): void {
  const { store, sandboxes } = plane;
  const rules = new SandboxRules(store);
  journal = new Journal(store);
  const rulesChanged = async (id: Id<'sandbox'>) => void told.push((await rules.find(id))?.rules);
  networks = new Networks({ store, sandboxes, rules, journal, gates: { rulesChanged } });
}

beforeEach(async () => {
  plane = await controlPlane({ profiles: [warm] });
  told = [];
  wire();
});
afterEach(async () => {
  await journal.close();
  await plane.close();
});

const create = async (more: object = {}): Promise<Sandbox> =>
  (await plane.sandboxes.create(ada, { spec, waitSeconds: 5, ...more })).sandbox;
const found = (id: Id<'sandbox'>) => new SandboxRules(plane.store).find(id);
const problemsOf = async (change: object, id: string) =>
  ((await networks.set(ada, id, change).catch((error) => error)) as CaissonError).problems;

test('a sandbox begins with the rules of its spec', async () => {
  const { id } = await create();
  expect(await networks.get(ada, id)).toEqual({ ...made, secrets: ['token'], revision: 0, isChanged: false });
  const rules = { ...made, secrets: ['token'] };
  expect(await found(id)).toEqual({ sandbox: id, owner: ada.owner, rules, isLate: false });
});

describe('a change', () => {
  test('takes the parts that are given, spelled as in a spec, and leaves the rest', async () => {
    const { id } = await create();
    const deny = ['PyPI', 'A.example:443', 'a.EXAMPLE:443'];
    const first = await networks.set(ada, id, { deny });
    const denied = ['preset:pypi', 'a.example:443'];
    expect(first).toEqual({ ...made, deny: denied, secrets: ['token'], revision: 1, isChanged: true });
    const second = await networks.set(ada, id, { mode: 'open', limits: {}, secrets: [] });
    expect(second).toEqual({
      ...made,
      mode: 'open',
      deny: denied,
      limits: {},
      secrets: [],
      revision: 2,
      isChanged: true,
    });
    expect(await networks.get(ada, id)).toEqual(second);
  });

  test('holds for the way out before it is answered', async () => {
    const { id } = await create();
    await networks.set(ada, id, { mode: 'off' });
    expect(told).toMatchObject([{ mode: 'off' }]);
  });

  test('with faults is refused with each of them in its place, and changes nothing', async () => {
    const { id } = await create();
    const allow = ['ok.example', 'https://x.example/', 'npn', 'b.example:99999'];
    expect(await problemsOf({ allow, secrets: ['no secret'] }, id)).toMatchObject([
      { path: 'allow[1]', hint: expect.stringContaining('host alone') },
      { path: 'allow[2]', hint: expect.stringContaining('npm') },
      { path: 'allow[3]' },
      { path: 'secrets[0]' },
    ]);
    await expect(networks.set(ada, id, { allow })).rejects.toMatchObject({ code: 'request_invalid' });
    expect(await networks.get(ada, id)).toMatchObject({ revision: 0 });
    expect(told).toEqual([]);
  });

  test('of a revision that is no longer the present one is refused', async () => {
    const { id } = await create();
    await networks.set(ada, id, { mode: 'off', revision: 0 });
    await expect(networks.set(ada, id, { mode: 'open', revision: 0 })).rejects.toMatchObject({ code: 'state_changed' });
    expect(await networks.set(ada, id, { mode: 'open', revision: 1 })).toMatchObject({ revision: 2 });
  });

  test('is for those who may change the sandbox; others of the project see the rules, strangers nothing', async () => {
    const { id } = await create();
    await expect(networks.set(bob, id, { mode: 'open' })).rejects.toMatchObject({ code: 'not_owner' });
    expect(await networks.get(bob, id)).toMatchObject({ mode: 'allowlist' });
    expect(await networks.set(boss, id, { mode: 'off' })).toMatchObject({ revision: 1 });
    for (const ask of [
      networks.get(stranger, id),
      networks.set(stranger, id, { mode: 'open' }),
      networks.log(stranger, id, { after: 0, limit: 1 }),
      networks.follow(stranger, id, {}),
      networks.usage(stranger, id),
    ])
      await expect(ask).rejects.toMatchObject({ code: 'sandbox_not_found' });
  });

  test('is possible in every state but destroyed', async () => {
    const { id } = await create();
    await plane.sandboxes.pause(ada, id, { waitSeconds: 5, drainSeconds: 0 });
    expect(await networks.set(ada, id, { mode: 'off' })).toMatchObject({ revision: 1 });
    await plane.sandboxes.resume(ada, id, 5);
    await plane.sandboxes.stop(ada, id, 5);
    expect(await networks.set(ada, id, { mode: 'open' })).toMatchObject({ revision: 2 });
    await plane.sandboxes.destroy(ada, id, 5);
    await expect(networks.set(ada, id, { mode: 'off' })).rejects.toMatchObject({ code: 'sandbox_destroyed' });
    expect(await networks.get(ada, id)).toMatchObject({ mode: 'open', revision: 2 });
    expect(await found(id)).toBeUndefined();
  });

  test('holds across pause, stop, start, recreate and another server', async () => {
    const { id } = await create();
    await networks.set(ada, id, { mode: 'off' });
    const holds = async () => expect((await found(id))?.rules.mode).toBe('off');
    await plane.sandboxes.pause(ada, id, { waitSeconds: 5, drainSeconds: 0 });
    await holds();
    await plane.sandboxes.resume(ada, id, 5);
    await plane.sandboxes.stop(ada, id, 5);
    await plane.sandboxes.start(ada, id, 5);
    await holds();
    await plane.sandboxes.recreate(ada, id, 5);
    await holds();
    await journal.close();
    plane = await plane.restart();
    wire();
    await holds();
  });
});

test('a claimed member of a warm pool has the rules of what was asked for, and its owner', async () => {
  await plane.pools.open();
  await expect.poll(() => plane.pools.show()[0]?.ready, { interval: 5 }).toBe(1);
  const { id, owner } = await create({ spec: undefined, profile: 'warm' });
  expect(await plane.store.events.list({ subject: id, after: 0, limit: 10 })).toContainEqual(
    expect.objectContaining({ type: 'caisson.sandbox.claimed' }),
  );
  expect(await found(id)).toMatchObject({ owner, rules: { ...made, secrets: [] } });
  expect(await networks.get(ada, id)).toMatchObject({ revision: 0 });
});

test('the log and the usage are those of one sandbox, with its limits', async () => {
  const [one, other] = [await create(), await create()];
  const decision = { host: 'a.example', port: 443, protocol: 'connect', verdict: 'allowed' } as const;
  journal.decided({ ...decision, sandbox: one.id });
  journal.decided({ ...decision, sandbox: one.id, host: 'b.example', verdict: 'refused', why: 'not_allowed' });
  journal.moved(one.id, 'a.example', { sentBytes: 1, receivedBytes: 2, connections: 1 });
  expect(await networks.log(ada, one.id, { after: 0, limit: 10 })).toHaveLength(2);
  expect(await networks.log(ada, one.id, { after: 0, limit: 10, verdict: 'refused' })).toMatchObject([
    { host: 'b.example', why: 'not_allowed' },
  ]);
  expect(await networks.log(ada, other.id, { after: 0, limit: 10 })).toEqual([]);
  expect(await networks.usage(ada, one.id)).toMatchObject({
    totals: { sentBytes: 1, receivedBytes: 2, connections: 1, allowed: 1, refused: 1 },
    limits: { totalMiB: 5 },
  });
  const { from } = await networks.follow(ada, one.id, {});
  expect(from).toBeGreaterThan(0);
});
