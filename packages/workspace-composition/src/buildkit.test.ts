import { describe, expect, test } from 'vitest';
import { buildkitBuildSpecSchema, resolvedImagePlanSchema } from './buildkit.ts';
import { planRepositoryProblem, repositoryPlacement } from './repository-placement.ts';
import { normalizeUserWorkspaceSpec } from './user-workspace-spec.ts';

const url = 'https://github.com/acme/api';
const commit = 'a'.repeat(40);
const sha256 = `sha256:${'b'.repeat(64)}`;
const step = { id: 'setup-1', run: 'npm ci', shell: 'sh', workingDirectory: '/workspace/repo', user: 'agent' };
const repository = { url, commit, path: '/workspace/repo' };
const plan = {
  version: '1',
  platform: { os: 'linux', architecture: 'arm64' },
  os: { family: 'debian', release: 'trixie' },
  base: { kind: 'registry', reference: 'docker.io/library/debian:trixie', digest: sha256 },
  packages: [{ id: 'git', nativeName: 'git', version: '1:2.47', packageManager: 'apt' }],
  harness: { id: 'codex', version: '0.5', install: [{ ...step, id: 'install' }], launch: ['codex'] },
  users: [{ name: 'agent', uid: 1000, gid: 1000, home: '/home/agent', shell: '/bin/bash' }],
  env: { A: '1' },
  steps: [step],
  inputs: [{ id: 'dotfiles-1', purpose: 'dotfiles', kind: 'git', url, commit }],
  labels: { a: 'b' },
  repository,
};
const accepts = (change: object) => resolvedImagePlanSchema.safeParse({ ...plan, ...change }).success;

describe('a plan', () => {
  test('is accepted when everything is resolved', () => {
    expect(resolvedImagePlanSchema.parse(plan)).toEqual(plan);
  });

  test.each<[string, object]>([
    ['a base without a digest', { base: { kind: 'registry', reference: 'debian' } }],
    ['a base named by a plan digest', { base: { ...plan.base, digest: `plan-${sha256}` } }],
    ['a base of an unknown kind', { base: { ...plan.base, kind: 'tarball' } }],
    ['an OS that is not resolved', { os: { family: 'auto' } }],
    ['the harness none', { harness: { ...plan.harness, id: 'none' } }],
    ['a harness without a launch command', { harness: { ...plan.harness, launch: [] } }],
    ['a short commit', { repository: { ...repository, commit: 'abc1234' } }],
    ['a commit in capitals', { repository: { ...repository, commit: 'A'.repeat(40) } }],
    ['a ref in place of a commit', { inputs: [{ ...plan.inputs[0], commit: 'main' }] }],
    ['an option as a package', { packages: [{ id: 'git', nativeName: '-y', packageManager: 'apt' }] }],
    ['a label with a line break', { labels: { a: 'b\n' } }],
    ['a key that does not exist', { extra: 1 }],
    ['a repository without setup steps', { steps: [] }],
  ])('refuses %s', (_, change) => {
    expect(accepts(change)).toBe(false);
  });

  test('may name a commit of either hash', () => {
    expect(accepts({ repository: { ...repository, commit: 'a'.repeat(64) } })).toBe(true);
  });
});

describe('the repository', () => {
  const { repository: _, ...without } = plan;
  const built = resolvedImagePlanSchema.parse(plan);
  const bare = resolvedImagePlanSchema.parse(without);
  const withSetup = normalizeUserWorkspaceSpec({ source: url, setup: 'npm ci' });
  const withoutSetup = normalizeUserWorkspaceSpec({ source: url, startup: ['npm ci'] });
  const none = normalizeUserWorkspaceSpec({ source: { kind: 'none' }, setup: 'make' });

  test('is part of the image only with setup, and is otherwise fetched at launch', () => {
    expect([withSetup, withoutSetup, none].map(repositoryPlacement)).toEqual(['image', 'launch', 'none']);
  });

  test('stands in the plan exactly when it is part of the image', () => {
    expect(planRepositoryProblem(withSetup, built)).toBeUndefined();
    expect(planRepositoryProblem(withSetup, bare)).toMatchObject({ path: 'repository', code: 'required' });
    expect(planRepositoryProblem(withoutSetup, bare)).toBeUndefined();
    expect(planRepositoryProblem(withoutSetup, built)).toMatchObject({ path: 'repository', code: 'conflict' });
    expect(planRepositoryProblem(none, built)).toMatchObject({ path: 'repository', code: 'conflict' });
  });

  test('may be a folder or an archive, named by its content', () => {
    const folder = normalizeUserWorkspaceSpec({ source: { kind: 'folder', path: '.' }, setup: 'make' });
    const content = { kind: 'folder', digest: sha256, path: '/workspace/repo' };
    const ofFolder = resolvedImagePlanSchema.parse({ ...plan, repository: content });
    expect(repositoryPlacement(folder)).toBe('image');
    expect(planRepositoryProblem(folder, ofFolder)).toBeUndefined();
    expect(planRepositoryProblem(folder, bare)).toMatchObject({ path: 'repository', code: 'required' });
    expect(planRepositoryProblem(folder, built)).toMatchObject({ path: 'repository.url', code: 'conflict' });
    expect(planRepositoryProblem(withSetup, ofFolder)).toMatchObject({ path: 'repository.kind', code: 'conflict' });
  });

  test('is the one of the blueprint', () => {
    const other = normalizeUserWorkspaceSpec({ source: `${url}-2`, setup: 'npm ci' });
    expect(planRepositoryProblem(other, built)).toMatchObject({ path: 'repository.url', code: 'conflict' });
  });
});

test('a build spec names its plan by the plan digest alone', () => {
  const spec = {
    version: '1',
    planDigest: `plan-${sha256}`,
    platform: plan.platform,
    frontend: 'dockerfile.v0',
    dockerfile: 'FROM scratch',
    files: [{ path: 'setup.sh', content: '', mode: 0o755 }],
    secrets: ['gh'],
    labels: {},
    sourceDateEpoch: 0,
    output: { kind: 'oci-archive', path: '/tmp/x.tar' },
  };
  expect(buildkitBuildSpecSchema.parse(spec)).toEqual(spec);
  expect(buildkitBuildSpecSchema.safeParse({ ...spec, planDigest: sha256 }).success).toBe(false);
  for (const path of ['/etc/x', '../x', 'a/../x', 'a/..', '-x']) {
    const files = [{ path, content: '', mode: 0o644 }];
    expect(buildkitBuildSpecSchema.safeParse({ ...spec, files }).success, path).toBe(false);
  }
});
