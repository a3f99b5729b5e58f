import type { CreateSandbox, Profile, Sandbox } from '@caisson/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { maxFailures } from '../../packages/server/src/routing/breaker.ts';
import { ada, type ControlPlane, controlPlane, type PlaneOptions, stranger } from './control-plane.ts';

const profile = (name: string, route: Profile['route']): Profile => ({
  name,
  version: 1,
  sourceRequired: false,
  route,
});
const profiles = [
  profile('cheap', { strategy: 'lowest-cost', maxPricePerHourMicros: 500 }),
  profile('quick', { strategy: 'lowest-latency' }),
  profile('both', { strategy: 'explicit', drivers: ['second', 'fake'] }),
  profile('dear', { drivers: ['cloud'], maxPricePerHourMicros: 500 }),
];

let plane: ControlPlane;
afterEach(() => plane.close());
const open = async (options: PlaneOptions = {}) => {
  plane = await controlPlane({ others: ['second'], profiles, ...options });
};
const create = async (request: Omit<CreateSandbox, 'waitSeconds'> = {}): Promise<Sandbox> =>
  (await plane.sandboxes.create(ada, { waitSeconds: 10, ...request })).sandbox;
const explain = (request: Omit<CreateSandbox, 'waitSeconds'> = {}) =>
  plane.sandboxes.explain(ada, { waitSeconds: 10, ...request });
const driver = (name: string) => {
  const found = plane.drivers.find((one) => one.name === name);
  if (!found) throw new Error(`there is no driver ${name}`);
  return found;
};
const held = async (name: string) => (await driver(name).list(new AbortController().signal)).instances.length;

describe('a decision', () => {
  test('is kept with its attempt and shown with every candidate', async () => {
    await open();
    const { id, attempt } = await create({ profile: 'both' });
    const route = await plane.sandboxes.route(ada, id);
    expect(route).toMatchObject({
      attempt,
      strategy: 'explicit',
      chosen: { driver: 'second', host: 'here' },
      driver: 'second',
      claimed: false,
      failedTries: [],
    });
    expect(route.candidates.map(({ driver: name, rank }) => [name, rank])).toEqual([
      ['second', 1],
      ['fake', 2],
    ]);
    await expect(plane.sandboxes.route(stranger, id)).rejects.toMatchObject({ code: 'sandbox_not_found' });
  });

  test('is explained without anything being made', async () => {
    await open();
    const before = driver('second').faults.met.length;
    const decision = await explain({ profile: 'both' });
    expect(decision.chosen).toEqual({ driver: 'second', host: 'here' });
    expect(driver('second').faults.met).toHaveLength(before);
    expect(await plane.sandboxes.list(ada, { destroyedToo: true, limit: 10 })).toEqual([]);
  });

  test('that finds nobody lists the reason of each', async () => {
    await open();
    const spec = { source: { kind: 'none' }, ssh: true };
    const { chosen, candidates } = await explain({ spec });
    expect(chosen).toBeNull();
    expect(candidates.map(({ rejections }) => rejections[0]?.code)).toEqual([
      'unsupported-access-mode',
      'unsupported-access-mode',
    ]);
    await expect(create({ spec })).rejects.toMatchObject({
      code: 'no_route',
      context: {
        candidates: [
          { driver: 'fake', host: 'here', reason: 'unsupported-access-mode', path: 'access.ssh' },
          { driver: 'second', reason: 'unsupported-access-mode' },
        ],
      },
    });
  });

  test('names the drivers there are when the one that is required is not', async () => {
    await open();
    const spec = { source: { kind: 'none' }, target: { runtime: { name: 'nobody', mode: 'require' } } };
    await expect(create({ spec })).rejects.toMatchObject({
      code: 'driver_not_found',
      context: { known: ['fake', 'second'] },
    });
    const preferred = { source: { kind: 'none' }, target: { runtime: { name: 'nobody', mode: 'prefer' } } };
    expect((await create({ spec: preferred })).notices).toContain(
      'The driver nobody is not installed here; another one was taken.',
    );
  });

  test('takes the host that was asked for and no other', async () => {
    await open();
    expect((await create({ host: 'here' })).host).toBe('here');
    await expect(create({ host: 'moon' })).rejects.toMatchObject({
      code: 'host_not_found',
      context: { known: ['here'] },
    });
  });
});

describe('a network that is narrower than open', () => {
  const narrow: Profile = {
    ...profile('narrow', { drivers: ['second'] }),
    network: { mode: 'allowlist', allow: ['example.com'] },
    pool: { min: 1, max: 1 },
  };
  const rejection = { code: 'network_not_available', path: 'runtime.network.mode' };
  const asked = { spec: { source: { kind: 'none' }, runtime: { network: { mode: 'off' } } } };

  test('is required: what cannot enforce it is passed over, however well it would rank', async () => {
    await open({ otherNetworks: ['open'], profiles: [profile('prefers', { drivers: ['second', 'fake'] })] });
    const { chosen, candidates } = await explain({ profile: 'prefers', ...asked });
    expect(chosen?.driver).toBe('fake');
    expect(candidates[1]).toMatchObject({ driver: 'second', rank: null, rejections: [rejection] });
    expect((await create({ profile: 'prefers', ...asked })).driver).toBe('fake');
  });

  test('of a profile is refused, and has no pool, where nothing can enforce it', async () => {
    await open({ otherNetworks: ['off', 'open'], profiles: [narrow] });
    expect((await explain({ profile: 'narrow' })).chosen).toBeNull();
    await expect(create({ profile: 'narrow' })).rejects.toMatchObject({ code: 'network_not_available' });
    await plane.pools.open();
    expect(plane.pools.show()).toMatchObject([
      { driver: null, wanted: 0, problem: expect.stringMatching(/allowlist/) },
    ]);
    expect(await held('second')).toBe(0);
  });

  test('is not lost when the launch moves to another backend', async () => {
    await open({ otherNetworks: ['open'] });
    driver('fake').faults.plan('create.before', { kind: 'fail' });
    await expect(create(asked)).rejects.toMatchObject({ code: 'driver_failed' });
    expect(await held('second')).toBe(0);
  });

  test('an open one is preferred: who cannot offer it comes later', async () => {
    await open({ otherNetworks: ['off'], profiles: [profile('prefers', { drivers: ['second', 'fake'] })] });
    const { candidates } = await explain({ profile: 'prefers' });
    expect(candidates.map(({ driver: name, unmet }) => [name, unmet])).toEqual([
      ['fake', []],
      ['second', ['runtime.network.mode']],
    ]);
  });
});

describe('money', () => {
  const prices = [
    { driver: 'fake', perHour: 400, perCpuHour: 0, perGiBHour: 0 },
    { driver: 'second', perHour: 100, perCpuHour: 0, perGiBHour: 0 },
    { driver: 'cloud', perHour: 501, perCpuHour: 0, perGiBHour: 0 },
  ];

  test('the cheapest is taken', async () => {
    await open({ prices });
    expect((await create({ profile: 'cheap' })).driver).toBe('second');
  });

  test('what is above the ceiling is refused, with both amounts', async () => {
    await open({ prices, others: ['cloud'] });
    await expect(create({ profile: 'dear' })).rejects.toMatchObject({
      code: 'price_above_ceiling',
      message: 'it costs 501 micro-units an hour, the ceiling is 500',
    });
  });

  test('what has no price is refused where there is a ceiling', async () => {
    await open({ others: ['cloud'] });
    await expect(create({ profile: 'dear' })).rejects.toMatchObject({ code: 'price_above_ceiling' });
  });
});

describe('a host without room', () => {
  test('is not chosen for want of memory, and says so', async () => {
    await open({ others: [], room: { availableBytes: () => 100 * 1024 ** 2, totalBytes: 8 * 1024 ** 3 } });
    await expect(create()).rejects.toMatchObject({
      code: 'host_full',
      message: '100 MiB of memory are available, fewer than 256 MiB',
    });
    expect((await explain()).candidates[0]?.rejections).toMatchObject([{ code: 'host_full' }]);
  });

  test('is explained as full when it has as many sandboxes as it may', async () => {
    await open({ limits: { sandboxesPerHost: 1 } });
    await create();
    const { chosen, candidates } = await explain();
    expect(chosen).toBeNull();
    expect(candidates[0]?.rejections).toMatchObject([{ code: 'max_sandboxes_reached' }]);
    await expect(create()).rejects.toMatchObject({ code: 'max_sandboxes_reached' });
  });
});

describe('several hosts', () => {
  const away: PlaneOptions = {
    otherHost: 'far',
    profiles: [profile('afar', { hosts: ['far'] }), profile('only-afar', { strategy: 'explicit', hosts: ['far'] })],
  };

  test('the preferred host comes first, and the other is the fallback', async () => {
    await open(away);
    expect((await create()).host).toBe('here');
    expect(await create({ profile: 'afar' })).toMatchObject({ host: 'far', driver: 'second' });
    driver('second').faults.plan('create.before', { kind: 'fail' }, 2);
    expect(await create({ profile: 'afar' })).toMatchObject({ host: 'here', driver: 'fake' });
    await expect(create({ profile: 'only-afar' })).rejects.toMatchObject({ code: 'driver_failed' });
  });

  test('a host that is asked for is taken, whatever the strategy prefers', async () => {
    await open(away);
    expect((await create({ host: 'far' })).driver).toBe('second');
  });

  test('a host that has as many sandboxes as it may gives way to the other, and gets its place back', async () => {
    await open({ ...away, limits: { sandboxesPerHost: 1 } });
    const first = await create();
    const second = await create();
    expect([first.host, second.host]).toEqual(['here', 'far']);
    const { candidates } = await plane.sandboxes.route(ada, second.id);
    expect(candidates.find((one) => one.host === 'here')).toMatchObject({
      rank: null,
      rejections: [{ code: 'max_sandboxes_reached' }],
    });
    expect((await explain()).chosen).toEqual({ driver: 'second', host: 'far' });
    await plane.sandboxes.destroy(ada, first.id, 10);
    expect((await create()).host).toBe('here');
  });

  test('a place on the host that failed is given back when the next one takes over', async () => {
    await open({ ...away, limits: { sandboxesPerHost: 1 } });
    driver('fake').faults.plan('create.before', { kind: 'fail' });
    expect((await create()).host).toBe('far');
    expect((await create()).host).toBe('here');
  });

  test('memory that is short here keeps nobody from a host elsewhere', async () => {
    await open({ ...away, room: { availableBytes: () => 0, totalBytes: 8 * 1024 ** 3 } });
    expect((await create()).host).toBe('far');
  });
});

describe('latency', () => {
  test('is measured: first each is tried, then the quickest is taken', async () => {
    await open();
    const first = await create({ profile: 'quick' });
    const second = await create({ profile: 'quick' });
    expect([first.driver, second.driver]).toEqual(['fake', 'second']);
    plane.health.launched({ driver: 'fake', host: 'here' }, 'acme', 60_000);
    expect((await create({ profile: 'quick' })).driver).toBe('second');
  });

  test('is kept by the store', async () => {
    await open();
    await create();
    const [changed] = plane.health.takeChanged();
    const { mean, ...backend } = changed ?? { mean: { ms: 0, weight: 0, at: 0 } };
    await plane.store.routes.keep([{ ...(backend as { driver: string; host: string }), ...mean }]);
    const [kept] = await plane.store.routes.measured();
    expect(kept).toMatchObject({ driver: 'fake', host: 'here', weight: 1 });
    expect(kept?.ms).toBeCloseTo(mean.ms, 2);
    expect(plane.health.takeChanged()).toEqual([]);
  });
});

describe('failover', () => {
  test('when one cannot launch the next does, and both are told', async () => {
    await open();
    driver('second').faults.plan('create.made', { kind: 'fail', message: 'the engine is on fire' });
    const sandbox = await create({ profile: 'both' });
    expect(sandbox).toMatchObject({ state: 'ready', driver: 'fake' });
    expect(sandbox.notices).toContain(
      'The driver second could not launch it (the engine is on fire); fake was tried next.',
    );
    expect([await held('second'), await held('fake')]).toEqual([0, 1]);
    const route = await plane.sandboxes.route(ada, sandbox.id);
    expect(route).toMatchObject({
      chosen: { driver: 'second' },
      driver: 'fake',
      failedTries: [{ driver: 'second', reason: { code: 'driver_failed', message: 'the engine is on fire' } }],
    });
    const [attempt] = await plane.sandboxes.attempts(ada, sandbox.id, 10);
    expect(attempt).toMatchObject({ driver: 'fake', state: 'succeeded' });
    const events = await plane.store.events.list({ subject: sandbox.id, after: 0, limit: 20 });
    expect(events.map(({ type }) => type.split('.').at(-1))).toEqual([
      'requested',
      'provisioning',
      'rerouted',
      'ready',
    ]);
    expect((await plane.sandboxes.destroy(ada, sandbox.id, 10)).sandbox.state).toBe('destroyed');
    expect(await held('fake')).toBe(0);
  });

  test('a backend that hangs is given up after its deadline', async () => {
    await open();
    driver('second').faults.plan('create.made', { kind: 'hang' });
    expect((await create({ profile: 'both' })).driver).toBe('fake');
  });

  test('what is the fault of the request is not tried elsewhere', async () => {
    await open();
    driver('second').faults.plan('create.made', { kind: 'fail', code: 'image_not_found' });
    await expect(create({ profile: 'both' })).rejects.toMatchObject({ code: 'image_not_found' });
    expect(driver('fake').faults.met).toEqual([]);
  });

  test('when all fail, the last failure is told with those before', async () => {
    await open();
    for (const { faults } of plane.drivers) faults.plan('create.before', { kind: 'fail' });
    await expect(create({ profile: 'both' })).rejects.toMatchObject({
      code: 'driver_failed',
      context: { tries: [{ driver: 'second' }, { driver: 'fake' }] },
    });
    const [sandbox] = await plane.sandboxes.list(ada, { destroyedToo: false, limit: 1 });
    expect(sandbox).toMatchObject({ state: 'failed', driver: 'fake' });
  });

  test('what a dead backend still has of it is ended when it is back', async () => {
    await open();
    const dead = driver('second');
    dead.faults.plan('create.after', { kind: 'wedge' }).plan('destroy.before', { kind: 'fail' });
    const { id } = await create({ profile: 'both' });
    expect(await held('second')).toBe(1);
    await plane.settle();
    expect([await held('second'), await held('fake')]).toEqual([0, 1]);
    expect((await plane.sandboxes.get(ada, id)).state).toBe('ready');
  }, 15_000);

  test('goes on with the second when the server is killed while that launches', async () => {
    await open();
    driver('second').faults.plan('create.before', { kind: 'fail' });
    driver('fake').faults.plan('create.made', { kind: 'wedge' });
    const { sandbox } = await plane.sandboxes.create(ada, { profile: 'both', waitSeconds: 0 });
    await expect.poll(async () => (await plane.sandboxes.get(ada, sandbox.id)).driver).toBe('fake');
    plane = await plane.restart();
    await plane.settle();
    expect(await plane.sandboxes.get(ada, sandbox.id)).toMatchObject({ state: 'ready', driver: 'fake' });
    expect((await plane.sandboxes.route(ada, sandbox.id)).failedTries).toMatchObject([{ driver: 'second' }]);
  });
});

describe('a circuit breaker', () => {
  const breakIt = async (name: string) => {
    driver(name).faults.plan('create.before', { kind: 'fail' }, maxFailures);
    for (let count = 0; count < maxFailures; count += 1) await create({ profile: 'both' }).catch(() => {});
  };

  test('keeps a backend that failed often out of the way, with the reason', async () => {
    await open();
    await breakIt('second');
    const asked = driver('second').faults.met.length;
    expect((await create({ profile: 'both' })).driver).toBe('fake');
    expect(driver('second').faults.met).toHaveLength(asked);
    const { candidates } = await explain({ profile: 'both' });
    expect(candidates.find((one) => one.driver === 'second')?.rejections).toMatchObject([
      { code: 'circuit_open', message: expect.stringMatching(/its last 5 launches failed/) },
    ]);
  });

  test('answers at once where there is no other', async () => {
    await open({ others: [] });
    plane.driver.faults.plan('create.before', { kind: 'fail' }, maxFailures);
    for (let count = 0; count < maxFailures; count += 1) await create().catch(() => {});
    await expect(create()).rejects.toMatchObject({ code: 'circuit_open', retryable: true });
  });

  test('does not count what is the fault of the request', async () => {
    await open({ others: [] });
    plane.driver.faults.plan('create.before', { kind: 'fail', code: 'image_not_found' }, maxFailures + 1);
    for (let count = 0; count <= maxFailures; count += 1) await create().catch(() => {});
    expect((await create()).state).toBe('ready');
  });
});
