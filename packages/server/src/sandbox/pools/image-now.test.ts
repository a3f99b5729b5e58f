import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { expect, test } from 'vitest';
import { imageNow } from './image-now.ts';

type Parts = Parameters<typeof imageNow>[0];
type Plan = Parameters<typeof imageNow>[1];

const never = new AbortController().signal;

function look(os: unknown, made: Record<string, unknown> | undefined, storage = 'ours') {
  const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' }, os });
  const parts = {
    filesystems: { imageDigest: async () => 'the base' },
    imageChoice: { isBuilt: () => made !== undefined, choose: async () => ({ made, isBuilding: false }) },
  };
  const plan = { driver: { capabilities: { storage } }, composed: { blueprint, digest: 'd' } };
  return imageNow(parts as unknown as Parts, plan as unknown as Plan)?.(never);
}

const tag = { family: 'image', reference: 'registry.example/tools:v1' };

test.each<[string, unknown, Record<string, unknown> | undefined, string | undefined]>([
  ['a tag is what its registry has', tag, undefined, 'the base'],
  ['a distribution of a registry is a tag', 'ubuntu', undefined, 'the base'],
  ['what is built on a tag is what was built, not its base', tag, { planDigest: 'p', fromImage: 'built' }, 'built'],
  ['what is not built yet is none that a member has', tag, { planDigest: 'p' }, 'none'],
  ['what is planned only when it is made cannot be told', tag, {}, undefined],
])('%s', async (_, os, made, image) => {
  const looking = look(os, made);
  expect(looking).toBeDefined();
  expect(await looking).toBe(image);
});

test('what cannot come to mean another is not looked at', () => {
  expect(look('debian', undefined)).toBeUndefined();
  expect(look({ ...tag, reference: `registry.example/tools@sha256:${'a'.repeat(64)}` }, undefined)).toBeUndefined();
  expect(look(tag, { planDigest: 'p', fromImage: 'built' }, 'backend')).toBeUndefined();
});
