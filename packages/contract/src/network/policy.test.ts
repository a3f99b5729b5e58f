import { normalizeUserWorkspaceSpec, SpecError } from '@caisson/workspace-composition';
import { describe, expect, test } from 'vitest';
import { networkLimitsSchema, networkRulesOf, networkRulesSchema } from './policy.ts';

function networkOf(network: object) {
  return normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime: { network } }).runtime.network;
}

describe('the rules of a blueprint', () => {
  test('without limits and secrets have none', () => {
    expect(networkRulesOf(networkOf({ allow: ['npm'] }))).toEqual({
      mode: 'allowlist',
      allow: ['preset:npm'],
      deny: [],
      limits: {},
      secrets: [],
    });
  });

  test('keep all that the blueprint says', () => {
    const network = { mode: 'open', allow: ['a.io'], deny: ['b.io'], limits: { connections: 3 }, secrets: ['s'] };
    expect(networkRulesOf(networkOf(network))).toEqual(network);
    expect(networkRulesSchema.parse(networkRulesOf(networkOf(network)))).toEqual(network);
  });
});

describe.each(Object.keys(networkLimitsSchema.shape) as (keyof typeof networkLimitsSchema.shape)[])('%s', (name) => {
  const { minimum, maximum } = (networkLimitsSchema.shape[name].toJSONSchema?.() ?? {}) as Record<string, number>;

  test.each([
    ['least', minimum ?? Number.NaN, -1],
    ['most', maximum ?? Number.NaN, 1],
  ])('has the same %s value in a spec as in rules', (_, edge, beyond) => {
    expect(networkOf({ limits: { [name]: edge } }).limits).toEqual({ [name]: edge });
    expect(networkLimitsSchema.safeParse({ [name]: edge }).success).toBe(true);
    expect(networkLimitsSchema.safeParse({ [name]: edge + beyond }).success).toBe(false);
    expect(() => networkOf({ limits: { [name]: edge + beyond } })).toThrow(SpecError);
  });
});
