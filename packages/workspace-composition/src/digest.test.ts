import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type * as z from 'zod';
import type { ResolvedImagePlan } from './buildkit.ts';
import { blueprintDigest, blueprintDigestSchema, imageDigestSchema, planDigest, planDigestSchema } from './digest.ts';
import * as index from './index.ts';
import { normalizeUserWorkspaceSpec } from './user-workspace-spec.ts';

const spec = {
  repo: 'https://github.com/acme/api',
  packages: ['git', 'nodejs@20'],
  setup: 'npm ci',
  env: { B: 'ü', A: '1' },
};

const plan: ResolvedImagePlan = {
  version: '1',
  platform: { os: 'linux', architecture: 'amd64' },
  os: { family: 'debian', release: 'trixie' },
  base: { kind: 'registry', reference: 'debian:trixie', digest: imageDigestSchema.parse(`sha256:${'0'.repeat(64)}`) },
  packages: [{ id: 'git', nativeName: 'git', packageManager: 'apt' }],
  users: [],
  env: { A: '1' },
  steps: [],
  inputs: [],
  labels: {},
};

/** Golden values: a change of either means that every stored digest and cache key becomes worthless. */
test('the digests of a known blueprint and plan are the same everywhere and always', () => {
  expect(blueprintDigest(normalizeUserWorkspaceSpec(spec))).toBe(
    'blueprint-sha256:f0e270dcc2e084ee00a6a7b04463b561075efe11b0e7e34906dcc0d52e55ffc6',
  );
  expect(planDigest(plan)).toBe('plan-sha256:3b3d047821cc7ee629c3298cfec815e54234a4644f4fa7a0c3a67557ba0a4696');
});

test('context never affects a digest, and every other section does', () => {
  const blueprint = normalizeUserWorkspaceSpec(spec);
  const withContext = normalizeUserWorkspaceSpec({ ...spec, context: { issue: '#1', labels: { a: 'b' } } });
  expect(blueprintDigest(withContext)).toBe(blueprintDigest(blueprint));
  const changes = [
    { repo: 'https://github.com/acme/web' },
    { harness: 'codex' },
    { ssh: true },
    { packages: ['git'] },
    { customization: { shell: 'zsh' } },
    { setup: 'npm i' },
    { env: {} },
    { os: 'debian' },
  ];
  const digests = changes.map((change) => blueprintDigest(normalizeUserWorkspaceSpec({ ...spec, ...change })));
  expect(new Set([...digests, blueprintDigest(blueprint)]).size).toBe(changes.length + 1);
});

test('the kind is part of what is hashed', () => {
  const same = { version: '1' };
  const hex = (digest: string) => digest.slice(digest.indexOf(':'));
  expect(hex(blueprintDigest(same as never))).not.toBe(hex(planDigest(same as never)));
});

describe('the three forms cannot be mixed up', () => {
  const hex = '0123456789abcdef'.repeat(4);
  const forms: [string, z.ZodType, string][] = [
    ['blueprint', blueprintDigestSchema, `blueprint-sha256:${hex}`],
    ['plan', planDigestSchema, `plan-sha256:${hex}`],
    ['image', imageDigestSchema, `sha256:${hex}`],
  ];
  test.each(forms)('a %s digest accepts its own form alone', (_, schema, own) => {
    for (const [, , form] of forms) expect(schema.safeParse(form).success).toBe(form === own);
    for (const broken of [own.toUpperCase(), `${own}0`, own.slice(0, -1), `${own}\n`, ` ${own}`]) {
      expect(schema.safeParse(broken).success).toBe(false);
    }
  });

  test('what is computed has the form of its kind', () => {
    expect(blueprintDigestSchema.safeParse(blueprintDigest(normalizeUserWorkspaceSpec(spec))).success).toBe(true);
    expect(planDigestSchema.safeParse(planDigest(plan)).success).toBe(true);
  });
});

test('no other source than this one needs Node', () => {
  const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => readFileSync(join(import.meta.dirname, file), 'utf8').includes("from 'node:"));
  expect(sources).toEqual(['digest.ts']);
});

test('the browser-safe entry exports the forms but computes no digest', () => {
  expect(Object.keys(index)).toEqual(
    expect.arrayContaining(['blueprintDigestSchema', 'planDigestSchema', 'imageDigestSchema']),
  );
  expect(Object.keys(index)).not.toEqual(expect.arrayContaining(['blueprintDigest']));
  expect(Object.keys(index)).not.toEqual(expect.arrayContaining(['planDigest']));
});
