import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newPlan } from '../../../../test/builds/scripted-builder.ts';
import { buildKey, buildRules, sharedBuildKey } from './build-key.ts';

const ada = { tenant: 'acme', project: 'web', principal: 'ada' };
const eve = { tenant: 'evil', project: 'web', principal: 'eve' };
const { plan, planDigest } = newPlan();
const commit = 'c'.repeat(40);
const copying = newPlan({ repository: { url: 'https://example.com/a.git', commit, path: '/workspace/repo' } });
const blueprintWith = (network: object) =>
  normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime: { network } });
const open = buildRules(blueprintWith({ mode: 'open' }), plan);

describe('the key of a build', () => {
  test('is the same for everybody where nothing comes from elsewhere', () => {
    expect(buildKey(planDigest, plan, open, ada)).toBe(buildKey(planDigest, plan, open, eve));
  });

  test('is the project’s own with a repository or inputs in the image', () => {
    const key = (owner: typeof ada) => buildKey(copying.planDigest, copying.plan, open, owner);
    expect(key(ada)).not.toBe(key(eve));
    expect(key(ada)).toBe(key({ ...ada, principal: 'bob' }));
  });

  test('is another one under other rules, whatever they are', () => {
    const entries = fc.uniqueArray(fc.constantFrom('a.example', 'b.example', '*.c.example'));
    const rules = fc.record({ mode: fc.constantFrom('open', 'allowlist'), allow: entries, deny: entries });
    fc.assert(
      fc.property(rules, rules, (one, other) => {
        const key = (network: typeof one) => buildKey(planDigest, plan, buildRules(blueprintWith(network), plan), ada);
        // In which order they stand changes nothing.
        const built = (network: typeof one) => {
          const { mode, allow, deny } = buildRules(blueprintWith(network), plan);
          return JSON.stringify([mode, [...allow].sort(), [...deny].sort()]);
        };
        expect(key(one) === key(other)).toBe(built(one) === built(other));
      }),
    );
  });

  test('is waited for together within a project alone', () => {
    expect(sharedBuildKey('k', ada)).toBe(sharedBuildKey('k', { ...ada, principal: 'bob' }));
    expect(sharedBuildKey('k', ada)).not.toBe(sharedBuildKey('k', eve));
    expect(sharedBuildKey('k', ada)).not.toBe(sharedBuildKey('k', { ...ada, project: 'api' }));
  });
});

describe('what the steps of a build may reach', () => {
  test('is what the spec says, without its secrets and limits', () => {
    const blueprint = blueprintWith({ allow: ['example.com'], limits: { totalMiB: 1 }, secrets: ['token'] });
    expect(buildRules(blueprint, plan)).toEqual({
      mode: 'allowlist',
      allow: ['example.com', 'preset:debian'],
      deny: [],
      limits: {},
      secrets: [],
    });
  });

  test('is the mirror alone where the spec closes the network, and the npm registry for a harness', () => {
    const off = blueprintWith({ mode: 'off' });
    expect(buildRules(off, plan)).toMatchObject({ mode: 'allowlist', allow: ['preset:debian'] });
    const harness = { id: 'codex', version: '1.0.0', install: [], launch: ['codex'] } as const;
    const withHarness = { ...plan, harness: { ...harness, install: [], launch: [...harness.launch] } };
    expect(buildRules(off, withHarness).allow).toEqual(['preset:debian', 'preset:npm']);
  });
});
