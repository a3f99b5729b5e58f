import { expect, test } from 'vitest';
import { SpecError } from '../spec-error.ts';
import { normalizeUserWorkspaceSpec } from '../user-workspace-spec.ts';
import { boundedCopy, specBounds } from './bounds.ts';
import { Problems } from './problems.ts';

/** The largest spec in every count: writing out its defaults must not carry the blueprint over the bounds. */
const largest = {
  source: 'https://github.com/a/b',
  inputs: Array.from({ length: 64 }, () => ({ purpose: 'config', kind: 'git', url: 'git@h:x', mountPath: '/m' })),
  packages: Array.from({ length: 1_000 }, (_, index) => `p${index}@1`),
  setup: Array<string>(256).fill('a'),
  startup: { steps: Array<string>(256).fill('a'), foreground: 'b' },
  env: Object.fromEntries(Array.from({ length: 512 }, (_, index) => [`E${index}`, ''])),
  runtime: {
    workspaceRoot: `/${'w'.repeat(254)}`,
    network: { allow: Array<string>(1_000).fill('npm'), deny: Array<string>(1_000).fill('pypi') },
  },
};

test('the blueprint of the largest spec can be entered again', () => {
  const blueprint = normalizeUserWorkspaceSpec(largest);
  expect(JSON.stringify(normalizeUserWorkspaceSpec(blueprint))).toBe(JSON.stringify(blueprint));
});

test('a spec that only fits without its defaults is refused rather than made into a blueprint that does not fit', () => {
  const padding = Array.from({ length: 15 }, () => `# ${'x'.repeat(specBounds.stringBytes - 2)}`);
  const full = { ...largest, setup: [...padding, ...Array<string>(241).fill('a')] };
  const problems = new Problems();
  boundedCopy(full, problems);
  expect(problems.none).toBe(true);
  const outcome = () => normalizeUserWorkspaceSpec(full);
  expect(outcome).toThrow(SpecError);
  expect(outcome).toThrow(/bytes in all/);
  const { setup } = normalizeUserWorkspaceSpec({ source: largest.source, setup: padding }).lifecycle;
  expect(setup).toHaveLength(15);
});
