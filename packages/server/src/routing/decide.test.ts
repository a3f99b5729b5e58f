import { type Rejection, routeStrategies } from '@caisson/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Candidate } from './candidate.ts';
import { decide, type Wishes } from './decide.ts';
import { without } from './without.ts';

const names = ['oci', 'docker', 'podman', 'cloud'];
const hosts = ['here', 'there', 'far'];
const rejection: Rejection = { code: 'host_full', path: null, message: 'full' };

const candidateArb = (order: number): fc.Arbitrary<Candidate> =>
  fc.record({
    order: fc.constant(order),
    driver: fc.constantFrom(...names),
    host: fc.constantFrom(...hosts),
    selfHosted: fc.boolean(),
    pricePerHourMicros: fc.option(fc.integer({ min: 0, max: 5 })),
    latencyMs: fc.option(fc.integer({ min: 1, max: 5 })),
    rejections: fc.constantFrom([], [], [rejection]),
    unmet: fc.constantFrom([], ['autoPauseSeconds']),
  });
const candidatesArb = fc
  .integer({ min: 0, max: 8 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, order) => candidateArb(order))));
const wishesArb: fc.Arbitrary<Wishes> = fc.record({
  strategy: fc.constantFrom(...routeStrategies),
  drivers: fc.option(fc.subarray(names), { nil: undefined }),
  hosts: fc.option(fc.subarray(hosts), { nil: undefined }),
  host: fc.option(fc.constantFrom(...hosts), { nil: undefined, freq: 5 }),
  driver: fc.option(
    fc.record({ name: fc.constantFrom(...names), mode: fc.constantFrom('prefer' as const, 'require' as const) }),
    { nil: undefined },
  ),
  maxPricePerHourMicros: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
});
const asOf = '2026-11-15';

describe('whatever the candidates and the wishes are', () => {
  test('each candidate is there once, with a rank or with a reason', () => {
    fc.assert(
      fc.property(candidatesArb, wishesArb, (candidates, wishes) => {
        const decision = decide(candidates, wishes, asOf);
        expect(decision.candidates).toHaveLength(candidates.length);
        const ranks = decision.candidates.flatMap(({ rank }) => rank ?? []);
        expect(ranks).toEqual(ranks.map((_, index) => index + 1));
        for (const { rank, rejections } of decision.candidates) expect(rank === null).toBe(rejections.length > 0);
        expect(decision.chosen === null).toBe(ranks.length === 0);
      }),
    );
  });

  test('the order in which they are given changes nothing', () => {
    const shuffled = candidatesArb.chain((candidates) =>
      fc.tuple(fc.constant(candidates), fc.shuffledSubarray([...candidates], { minLength: candidates.length })),
    );
    fc.assert(
      fc.property(shuffled, wishesArb, ([candidates, other], wishes) => {
        expect(decide(other, wishes, asOf)).toEqual(decide(candidates, wishes, asOf));
      }),
    );
  });

  test('one that is rejected changes nothing for the others', () => {
    fc.assert(
      fc.property(candidatesArb, candidateArb(99), wishesArb, (candidates, more, wishes) => {
        const ranked = (list: readonly Candidate[]) =>
          decide(list, wishes, asOf).candidates.filter(({ rank }) => rank !== null);
        expect(ranked([...candidates, { ...more, rejections: [rejection] }])).toEqual(ranked(candidates));
      }),
    );
  });

  test('nothing above the ceiling, and nothing without a price under one, is ever tried', () => {
    fc.assert(
      fc.property(candidatesArb, wishesArb, fc.integer({ min: 0, max: 5 }), (candidates, wishes, ceiling) => {
        const { candidates: shown } = decide(candidates, { ...wishes, maxPricePerHourMicros: ceiling }, asOf);
        for (const { rank, pricePerHourMicros } of shown) {
          if (rank !== null) expect(pricePerHourMicros).toBeLessThanOrEqual(ceiling);
        }
      }),
    );
  });

  test('what is required by name is all that is tried, and what is preferred by name comes first', () => {
    fc.assert(
      fc.property(candidatesArb, wishesArb, (candidates, wishes) => {
        const ranked = decide(candidates, wishes, asOf).candidates.filter(({ rank }) => rank !== null);
        const { driver, host } = wishes;
        if (host !== undefined) for (const one of ranked) expect(one.host).toBe(host);
        if (driver?.mode === 'require') for (const one of ranked) expect(one.driver).toBe(driver.name);
        if (driver && ranked.some((one) => one.driver === driver.name)) expect(ranked[0]?.driver).toBe(driver.name);
      }),
    );
  });

  test('when some turn out not to serve, the others keep their order', () => {
    fc.assert(
      fc.property(candidatesArb, wishesArb, fc.constantFrom(...hosts), (candidates, wishes, host) => {
        const before = decide(candidates, wishes, asOf);
        const after = without(before, (one) => one.host === host, rejection);
        const ranked = (decision: typeof before) => decision.candidates.filter(({ rank }) => rank !== null);
        const staying = ranked(before).filter((one) => one.host !== host);
        expect(ranked(after).map(({ rank, ...rest }) => rest)).toEqual(staying.map(({ rank, ...rest }) => rest));
        expect(after.candidates).toHaveLength(before.candidates.length);
      }),
    );
  });
});

describe('each strategy', () => {
  const base: Candidate = {
    driver: 'oci',
    host: 'here',
    order: 0,
    selfHosted: true,
    pricePerHourMicros: 0,
    latencyMs: 50,
    rejections: [],
    unmet: [],
  };
  const cloud = { ...base, driver: 'cloud', order: 1, selfHosted: false, pricePerHourMicros: 7, latencyMs: 20 };
  const fresh = { ...base, driver: 'podman', order: 2, pricePerHourMicros: 3, latencyMs: null };
  const tried = (wishes: Partial<Wishes>, candidates = [base, cloud, fresh]) =>
    decide(candidates, { strategy: 'explicit', ...wishes }, asOf)
      .candidates.filter(({ rank }) => rank !== null)
      .map(({ driver }) => driver);

  test('explicit takes the order of the profile', () => {
    expect(tried({ drivers: ['cloud', 'oci'] })).toEqual(['cloud', 'oci']);
  });

  test('prefer-self-hosted takes machines of one’s own first', () => {
    expect(tried({ strategy: 'prefer-self-hosted', drivers: ['cloud', 'oci'] })).toEqual(['oci', 'cloud']);
  });

  test('lowest-cost takes the cheapest first, and what has no known price last', () => {
    const unknown = { ...fresh, driver: 'docker', order: 3, pricePerHourMicros: null };
    expect(tried({ strategy: 'lowest-cost' }, [cloud, unknown, fresh])).toEqual(['podman', 'cloud', 'docker']);
  });

  test('lowest-latency tries what was never measured, then the quickest', () => {
    expect(tried({ strategy: 'lowest-latency' })).toEqual(['podman', 'cloud', 'oci']);
  });

  test('hosts of the profile come first and others are the fallback, but for explicit', () => {
    const far = { ...cloud, host: 'far' };
    expect(tried({ strategy: 'prefer-self-hosted', hosts: ['far'] }, [base, far])).toEqual(['cloud', 'oci']);
    expect(tried({ strategy: 'explicit', hosts: ['far'] }, [base, far])).toEqual(['cloud']);
  });

  test('what is preferred and not had there ranks below, whatever the strategy says', () => {
    const lacking = { ...base, unmet: ['autoPauseSeconds'] };
    expect(tried({ strategy: 'prefer-self-hosted' }, [lacking, cloud])).toEqual(['cloud', 'oci']);
  });
});
