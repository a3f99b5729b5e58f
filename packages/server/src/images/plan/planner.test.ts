import { normalizeUserWorkspaceSpec, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { expect, test } from 'vitest';
import { PackageNameService } from '../packages/name-service.ts';
import { Planner, type PlannerOptions } from './planner.ts';

const base = {
  kind: 'rootfs-archive',
  reference: 'debian:bookworm',
  digest: `sha256:${'ab'.repeat(32)}`,
} as const satisfies ResolvedImagePlan['base'];
const versions: Record<string, readonly string[]> = { jq: ['1.6-2.1'], cowsay: ['3.03-8'], git: ['1:2.39.5-0'] };
const index = { name: 'Debian bookworm (amd64)', versionsOf: (name: string) => versions[name] ?? [] };
const { signal } = new AbortController();

function propose(spec: Record<string, unknown>, options: Partial<PlannerOptions> = {}) {
  const planner = new Planner({
    platform: { os: 'linux', architecture: 'amd64' },
    pinBase: async () => base,
    indexes: { of: async () => ({ index }) },
    ...options,
  });
  return planner.propose(normalizeUserWorkspaceSpec(spec, { requireSource: false }), signal);
}

test('a blueprint of which everything is known has a whole plan', async () => {
  const proposed = await propose({ packages: ['jq@1.6', 'cowsay'] });
  expect(proposed).toMatchObject({
    planDigest: expect.stringMatching(/^plan-sha256:/),
    unresolved: [],
    plan: { base, packages: [{ nativeName: 'cowsay' }, { nativeName: 'jq', version: '1.6-2.1' }] },
    notices: [],
  });
  expect(proposed.containerfile).toContain('jq=1.6-2.1');
});

test('what is done and why is told in the order in which it is done', async () => {
  const { explanation } = await propose({
    packages: ['jq@1.6'],
    setup: 'make all\nmake check',
    env: { A: '1' },
    startup: 'make serve',
  });
  expect(explanation).toEqual([
    {
      topic: 'base',
      what: expect.stringContaining('pinned as sha256:'),
      why: expect.stringContaining('`auto` is Debian'),
    },
    {
      topic: 'packages',
      what: 'jq: apt installs jq in version 1.6-2.1',
      why: 'the spec asks for it (tooling.packages[0]); the catalog has it; version 1.6 is 1.6-2.1 there',
    },
    { topic: 'users', what: 'root has the login shell /bin/bash', why: expect.any(String) },
    { topic: 'users', what: 'user has the login shell /bin/bash', why: expect.any(String) },
    { topic: 'setup', what: 'setup-1: make all …', why: expect.stringContaining('/workspace/repo') },
    { topic: 'env', what: 'A', why: expect.stringContaining('part of the image') },
    { topic: 'launch', what: 'make serve', why: expect.any(String) },
  ]);
});

test('what is not known yet is left open, and said', async () => {
  const pinBase = async () => 'the base is not made yet';
  const proposed = await propose({ repo: 'https://git.example/a.git', setup: 'make' }, { pinBase });
  expect(proposed).toMatchObject({
    planDigest: null,
    unresolved: ['base', 'repository.commit'],
    plan: { base: null, repository: { commit: null } },
    notices: ['the base is not made yet'],
  });
  expect(proposed.containerfile).toContain('FROM scratch');
});

test('every package that cannot be had is told at once, with what may be meant', async () => {
  await expect(propose({ packages: ['jqq', 'jq@9', 'cowsay'] })).rejects.toMatchObject({
    code: 'unsupported-package',
    problems: [
      { path: 'tooling.packages[0]', code: 'not-found', hint: expect.stringContaining('`jq`') },
      { path: 'tooling.packages[1]', code: 'version-unavailable', hint: 'There is `1.6-2.1`.' },
    ],
  });
});

test('a blueprint that cannot be built is refused before anything is asked', async () => {
  const pinBase = async () => {
    throw new Error('it was asked');
  };
  await expect(propose({ packages: ['postgres', 'helix'] }, { pinBase })).rejects.toMatchObject({
    code: 'unsupported-package',
    problems: [{ path: 'tooling.packages[0]' }, { path: 'tooling.packages[1]' }],
  });
});

test('an index that cannot be read is a notice, not a failure', async () => {
  const indexes = { of: async () => ({ notice: 'the mirror is away' }) };
  const proposed = await propose({ packages: ['jq'] }, { indexes });
  expect(proposed.notices).toEqual(['the mirror is away']);
});

test('a name that only the service knows is taken, and marked as unchecked', async () => {
  const names = new PackageNameService({ client: { lookup: async () => ['cowsay'] } });
  const { explanation } = await propose({ packages: ['talking-cow'], os: 'alpine' }, { names });
  const line = explanation.find(({ what }) => what.startsWith('talking-cow'));
  expect(line).toMatchObject({ what: 'talking-cow: apk installs cowsay', why: expect.stringContaining('not checked') });
});

test('a harness for a machine that it does not run on is refused', async () => {
  const platform = { os: 'linux', architecture: 's390x' } as const;
  await expect(propose({ harness: 'codex' }, { platform, indexes: undefined })).rejects.toMatchObject({
    code: 'unsupported-harness',
  });
});
