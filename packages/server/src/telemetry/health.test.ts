import { type HealthName, healthNames } from '@caisson/contract';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { type HealthSources, HealthWatch, healthThresholds, judge, worstOf } from './health.ts';

const well: HealthSources = {
  pingDatabase: async () => {},
  diskUsed: async () => 0.2,
  storageUsed: async () => 0.2,
  memoryUsed: () => 0.2,
  drivers: async () => ({ usable: 1, troubled: 0 }),
  reconciledSecondsAgo: () => 1,
  jobs: async () => ({ dead: 0, oldestDueSeconds: 0 }),
};

const watches: HealthWatch[] = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.close();
});

async function look(sources: Partial<HealthSources>) {
  const watch = new HealthWatch({ ...well, ...sources });
  watches.push(watch);
  const { state, checks } = await watch.look();
  return {
    state,
    of: (name: HealthName) => checks.find((check) => check.name === name),
    names: checks.map((c) => c.name),
  };
}

test('everything is looked at, and all is well', async () => {
  const { names, of } = await look({});
  expect([...names].sort()).toEqual([...healthNames].sort());
  expect(of('database')).toMatchObject({ state: 'ok', reason: null });
});

test('what does not answer is critical, with what it said, and hides nothing else', async () => {
  const { state, of } = await look({ pingDatabase: () => Promise.reject(new Error('it is away')) });
  expect(state).toBe('critical');
  expect(of('database')).toMatchObject({ state: 'critical', value: null, reason: 'it is away' });
  expect(of('disk')?.state).toBe('ok');
});

test('a driver that is left alone is to be looked at, and none that can be used is the end', async () => {
  expect((await look({ drivers: async () => ({ usable: 2, troubled: 1 }) })).of('drivers')?.state).toBe('degraded');
  expect((await look({ drivers: async () => ({ usable: 0, troubled: 0 }) })).of('drivers')).toMatchObject({
    state: 'critical',
    reason: 'no driver can be used',
  });
});

test('what is not there is not judged', async () => {
  expect((await look({ storageUsed: async () => undefined })).names).not.toContain('storage');
});

test('more is never better, and whatever is not ok says why', () => {
  const order = ['ok', 'degraded', 'critical'];
  fc.assert(
    fc.property(fc.constantFrom(...healthNames), fc.double({ min: 0, max: 1e6, noNaN: true }), (name, value) => {
      const { warn, critical } = healthThresholds[name];
      const check = judge(name, value);
      expect(check.state).toBe(value >= critical ? 'critical' : value >= warn ? 'degraded' : 'ok');
      expect(check.reason === null).toBe(check.state === 'ok');
      expect(order.indexOf(judge(name, value + 1).state)).toBeGreaterThanOrEqual(order.indexOf(check.state));
    }),
  );
});

test('the whole is as the worst of it', () => {
  expect(worstOf([])).toBe('ok');
  expect(worstOf([{ state: 'ok' }, { state: 'critical' }, { state: 'degraded' }])).toBe('critical');
});
