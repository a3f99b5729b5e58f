import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { composeSpec } from './compose.ts';
import { resolveProfile } from './inherit.ts';
import { fillInputs, resolveInputs } from './inputs.ts';
import { mergeSpecs } from './merge-spec.ts';
import { type Profile, parseProfileRef, profileRefSchema, profileSchema } from './profile.ts';

const base: Profile = {
  name: 'base',
  version: 1,
  spec: { packages: ['git'], env: { A: '1' } },
  lease: { ttlSeconds: 60, idleSeconds: 5 },
};
const child: Profile = {
  name: 'child',
  version: 3,
  extends: { name: 'base' },
  inputs: { repo: { type: 'string', required: true }, cpus: { type: 'number', default: 2, max: 8 } },
  spec: {
    repo: '${inputs.repo}',
    packages: ['node@20'],
    env: { B: '2' },
    runtime: { resources: { cpus: '${inputs.cpus}' } },
  },
  lease: { ttlSeconds: 120 },
  resources: { memoryMiB: 512 },
  onePerOwner: true,
};
const all = [base, child];
const lookup = (name: string, version?: number) =>
  all.find((p) => p.name === name && (version === undefined || p.version === version));

test('the schema takes a profile with everything in it', () => {
  const whole: Profile = {
    ...child,
    description: 'all of it',
    sourceRequired: false,
    network: { mode: 'allowlist', allow: ['*.example.org'], limits: { totalMiB: 100 }, secrets: ['token'] },
    snapshots: { perTool: false, keepTurns: 20 },
    pool: { min: 1, max: 5 },
    route: { strategy: 'lowest-cost', drivers: ['oci', 'docker'], maxPricePerHourMicros: 5_000_000 },
    autoPauseSeconds: 600,
    autoResume: true,
    priceClass: 'standard',
  };
  expect(profileSchema.parse(whole)).toEqual(whole);
});

test.each([
  ['an unknown key', { ...base, tll: 3 }],
  ['a name with a newline', { ...base, name: 'a\n' }],
  ['version zero', { ...base, version: 0 }],
  ['a version as text', { ...base, version: '1' }],
  ['a pool whose minimum is above its maximum', { ...base, pool: { min: 3, max: 1 } }],
  ['an input of an unknown type', { ...base, inputs: { a: { type: 'date' } } }],
  [
    'more than 50 inputs',
    { ...base, inputs: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`i${n}`, { type: 'string' }])) },
  ],
])('the schema refuses %s', (_, profile) => {
  expect(profileSchema.safeParse(profile).success).toBe(false);
});

test('an input named like the prototype is never let through', () => {
  const parsed = profileSchema.safeParse({ ...base, inputs: JSON.parse('{"__proto__":{"type":"string"}}') });
  expect(Object.keys(parsed.data?.inputs ?? {})).toEqual([]);
});

test('limits of the network are inherited one by one', () => {
  const parent: Profile = { ...base, network: { mode: 'open', limits: { totalMiB: 100, connections: 5 } } };
  const heir: Profile = { ...child, network: { deny: ['example.com'], limits: { connections: 9 } } };
  expect(resolveProfile(heir, () => parent).network).toEqual({
    mode: 'open',
    deny: ['example.com'],
    limits: { totalMiB: 100, connections: 9 },
  });
});

test('a child inherits what it does not say, and its lineage tells from whom', () => {
  const resolved = resolveProfile(child, lookup);
  expect(resolved.lineage).toEqual(['child@3', 'base@1']);
  expect(resolved.lease).toEqual({ ttlSeconds: 120, idleSeconds: 5 });
  expect(resolved.spec).toMatchObject({ packages: ['git', 'node@20'], env: { A: '1', B: '2' } });
  expect(resolved).not.toHaveProperty('extends');
});

test('a circle, a missing parent and too long a chain are errors', () => {
  const a: Profile = { name: 'a', version: 1, extends: { name: 'b' } };
  const b: Profile = { name: 'b', version: 1, extends: { name: 'a' } };
  expect(() => resolveProfile(a, (name) => (name === 'b' ? b : a))).toThrow(
    expect.objectContaining({ code: 'profile_cycle' }),
  );
  expect(() => resolveProfile(a, () => undefined)).toThrow(expect.objectContaining({ code: 'profile_not_found' }));
  const endless = (name: string): Profile => ({ name, version: 1, extends: { name: `${name}x` } });
  expect(() => resolveProfile(endless('x'), endless)).toThrow(expect.objectContaining({ code: 'profile_cycle' }));
});

test('the spec of a request lies over the profile, and inputs keep their type', () => {
  const resolved = resolveProfile(child, lookup);
  const spec = composeSpec(
    resolved,
    { repo: 'https://example.org/a.git', cpus: '4' },
    { env: { B: '3' }, tooling: { packages: ['git@2'] } },
  );
  expect(spec).toEqual({
    repo: 'https://example.org/a.git',
    tooling: { packages: ['node@20', 'git@2'] },
    env: { A: '1', B: '3' },
    runtime: { resources: { memoryMiB: 512, cpus: 4 } },
  });
});

test('missing, unknown and wrong inputs are told at once', () => {
  const resolved = resolveProfile(child, lookup);
  expect(() => resolveInputs(resolved, {})).toThrow(expect.objectContaining({ code: 'input_missing' }));
  expect(() => resolveInputs(resolved, { repo: 'x', cpus: 9, nope: 1 })).toThrow(
    expect.objectContaining({
      code: 'request_invalid',
      problems: [
        expect.objectContaining({ path: 'inputs.nope', hint: 'It takes: repo, cpus.' }),
        expect.objectContaining({ path: 'inputs.cpus', message: 'must be at most 8' }),
      ],
    }),
  );
});

test('an input is put in as it is and never read for placeholders again', () => {
  expect(fillInputs({ a: '${inputs.x}', b: 'v=${inputs.x};${inputs.y}' }, { x: '${inputs.y}', y: 'no' })).toEqual({
    a: '${inputs.y}',
    b: 'v=${inputs.y};no',
  });
  expect(fillInputs({ a: '${inputs.none}', b: 'v${inputs.none}', c: ['${inputs.none}'] }, {})).toEqual({
    b: 'v',
    c: [],
  });
});

describe('merging of specs', () => {
  const spellings = [
    [{ source: 'u1' }, { repo: 'u2' }],
    [{ repo: 'u1' }, { sources: { workspace: 'u2' } }],
    [{ sources: { workspace: 'u1', inputs: [1] } }, { source: 'u2', inputs: [2] }],
    [{ ssh: true }, { access: { ssh: false } }],
    [{ os: 'debian' }, { target: { os: 'alpine' } }],
    [{ lifecycle: { setup: ['a'] } }, { setup: ['b'] }],
    [{ startup: 'a' }, { lifecycle: { startup: 'b' } }],
  ] as const;

  test.each(spellings)('%j under %j leaves the upper one, in its own spelling', (lower, upper) => {
    const merged = mergeSpecs(lower, upper);
    for (const [key, value] of Object.entries(upper)) expect(merged[key]).toEqual(value);
    const pruned = Object.entries(merged)
      .filter(([, value]) => JSON.stringify(value) !== '{}')
      .map(([key]) => key);
    expect(pruned.sort()).toEqual(Object.keys(upper).sort());
  });

  test('nothing under a spec, or a spec over nothing, is that spec', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('env', 'runtime', 'os', 'other'), fc.jsonValue()), (spec) => {
        expect(mergeSpecs({}, spec)).toEqual(spec);
        expect(mergeSpecs(spec, {})).toEqual(spec);
        expect(mergeSpecs(spec, spec)).toEqual(spec);
      }),
    );
  });
});

test('a reference is a name with or without a version', () => {
  expect(parseProfileRef('agent-dev@12')).toEqual({ name: 'agent-dev', version: 12 });
  expect(parseProfileRef('agent-dev')).toEqual({ name: 'agent-dev' });
  for (const bad of ['a@0', 'a@', '@1', 'a@1@2', 'a@01', '-a', 'a@1\n'])
    expect(profileRefSchema.safeParse(bad).success).toBe(false);
});
