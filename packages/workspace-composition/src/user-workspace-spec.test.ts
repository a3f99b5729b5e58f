import { describe, expect, test } from 'vitest';
import type { WorkspaceBlueprint } from './blueprint.ts';
import { SpecError } from './spec-error.ts';
import { normalizeUserWorkspaceSpec, parseUserWorkspaceSpec, userWorkspaceSpecSchema } from './user-workspace-spec.ts';

const url = 'https://github.com/acme/api';
const git = { kind: 'git', provider: 'github', url };
const from = (spec: object): WorkspaceBlueprint => normalizeUserWorkspaceSpec({ source: url, ...spec });
const step = (id: string, run: string) => ({ id, run, shell: 'sh', workingDirectory: '/workspace/repo' });

test('a spec of one line becomes a blueprint with every default written out, in one order', () => {
  expect(JSON.stringify(normalizeUserWorkspaceSpec({ repo: url }))).toBe(
    JSON.stringify({
      version: '1',
      sources: { workspace: git, inputs: [] },
      harness: { id: 'none' },
      access: { ssh: { enabled: false, listenPort: 2222 } },
      tooling: { packages: [] },
      customization: {
        shell: 'bash',
        dotfilesManager: 'auto',
        dotfilesTarget: 'home',
        applyDotfiles: true,
        dotfilesBootstrap: true,
      },
      lifecycle: { setup: [], startup: { steps: [], foreground: { kind: 'harness' } } },
      runtime: {
        env: {},
        workspaceRoot: '/workspace',
        persistence: 'ephemeral',
        ociRuntime: 'auto',
        network: { mode: 'open', allow: [], deny: [] },
        resources: {},
      },
      target: { os: { family: 'auto', mode: 'prefer' }, runtime: { name: 'auto', mode: 'prefer' } },
      context: { labels: {} },
    }),
  );
});

describe('the workspace source', () => {
  test.each<[string, object, object]>([
    ['a URL as `source`', { source: url }, git],
    ['a URL as `repo`', { repo: url }, git],
    ['a URL as `sources.workspace`', { sources: { workspace: url } }, git],
    [
      'a git object',
      { source: { kind: 'git', url, ref: 'main', authRef: 'gh' } },
      { ...git, ref: 'main', authRef: 'gh' },
    ],
    ['submodules', { source: { kind: 'git', url, submodules: true } }, { ...git, submodules: true }],
    ['no submodules, said outright', { source: { kind: 'git', url, submodules: false } }, git],
    ['a stated provider', { source: { ...git, provider: 'generic' } }, { ...git, provider: 'generic' }],
    ['a folder', { source: { kind: 'folder', path: '../api' } }, { kind: 'folder', path: '../api' }],
    ['an archive by path', { source: { kind: 'archive', path: 'a.tgz' } }, { kind: 'archive', path: 'a.tgz' }],
    [
      'an archive by URL',
      { source: { kind: 'archive', url: 'https://h/a.tgz' } },
      { kind: 'archive', url: 'https://h/a.tgz' },
    ],
    ['an explicit none', { source: { kind: 'none' } }, { kind: 'none' }],
  ])('accepts %s', (_, spec, source) => {
    expect(normalizeUserWorkspaceSpec(spec).sources.workspace).toEqual(source);
    expect(userWorkspaceSpecSchema.parse(spec)).toEqual(spec);
  });

  test('may be absent only when the caller needs no repository', () => {
    expect(normalizeUserWorkspaceSpec({}, { requireSource: false }).sources.workspace).toEqual({ kind: 'none' });
    expect(() => normalizeUserWorkspaceSpec({})).toThrow(SpecError);
  });
});

describe('each row of the spec table', () => {
  const inputs = [
    { purpose: 'dotfiles', kind: 'git', url: 'git@gitlab.com:me/dots.git' },
    { purpose: 'config', kind: 'folder', path: '/etc/x', mountPath: '/opt/x/' },
    { purpose: 'dotfiles', kind: 'archive', path: 'd.tgz' },
  ];
  const ssh = { enabled: true, listenPort: 2200 };
  const packages = [{ id: 'git' }, { id: 'nodejs', version: '20' }];

  test.each<[string, object, (blueprint: WorkspaceBlueprint) => unknown, unknown]>([
    [
      'inputs get ids, counted for each purpose',
      { inputs },
      (b) => b.sources.inputs,
      [
        { id: 'dotfiles-1', purpose: 'dotfiles', kind: 'git', provider: 'gitlab', url: 'git@gitlab.com:me/dots.git' },
        { id: 'config-1', purpose: 'config', kind: 'folder', path: '/etc/x', mountPath: '/opt/x' },
        { id: 'dotfiles-2', purpose: 'dotfiles', kind: 'archive', path: 'd.tgz' },
      ],
    ],
    ['a harness by id', { harness: 'codex' }, (b) => b.harness, { id: 'codex' }],
    [
      'a harness as an object',
      { harness: { version: '1.2', id: 'opencode', profile: 'fast' } },
      (b) => b.harness,
      { id: 'opencode', profile: 'fast', version: '1.2' },
    ],
    ['ssh by true', { ssh: true }, (b) => b.access.ssh, { enabled: true, listenPort: 2222 }],
    ['a port implies ssh', { ssh: { listenPort: 2200 } }, (b) => b.access.ssh, ssh],
    [
      'keys imply ssh',
      { ssh: { authorizedKeysRef: 'team' } },
      (b) => b.access.ssh,
      { enabled: true, listenPort: 2222, authorizedKeysRef: 'team' },
    ],
    ['an explicit false stays', { ssh: { ...ssh, enabled: false } }, (b) => b.access.ssh, { ...ssh, enabled: false }],
    ['packages in all forms', { packages: ['git', 'nodejs@20'] }, (b) => b.tooling.packages, packages],
    ['a single package', { packages: 'git' }, (b) => b.tooling.packages, [{ id: 'git' }]],
    ['setup by string', { setup: 'make' }, (b) => b.lifecycle.setup, [step('setup-1', 'make')]],
    [
      'setup by list',
      { setup: ['a\nb', { id: 'two', run: 'b', shell: 'bash', workingDirectory: './web//' }] },
      (b) => b.lifecycle.setup,
      [step('setup-1', 'a\nb'), { id: 'two', run: 'b', shell: 'bash', workingDirectory: '/workspace/repo/web' }],
    ],
    [
      'startup by string is the foreground',
      { startup: 'serve' },
      (b) => b.lifecycle.startup,
      { steps: [], foreground: { kind: 'command', run: 'serve', shell: 'sh', workingDirectory: '/workspace/repo' } },
    ],
    [
      'startup by list is steps',
      { startup: ['a', { run: 'b' }] },
      (b) => b.lifecycle.startup,
      { steps: [step('startup-1', 'a'), step('startup-2', 'b')], foreground: { kind: 'harness' } },
    ],
    [
      'startup by object is both',
      { startup: { steps: 'a', foreground: { run: 'b', workingDirectory: '/srv' } } },
      (b) => b.lifecycle.startup,
      {
        steps: [step('startup-1', 'a')],
        foreground: { kind: 'command', run: 'b', shell: 'sh', workingDirectory: '/srv' },
      },
    ],
    [
      'env, with names that objects inherit',
      { env: { toString: 'x', constructor: '' } },
      (b) => ({ ...b.runtime.env }),
      { constructor: '', toString: 'x' },
    ],
    ['os by family', { os: 'debian' }, (b) => b.target.os, { family: 'debian', mode: 'prefer' }],
    [
      'os with a release',
      { os: { family: 'debian', release: 'trixie', mode: 'require' } },
      (b) => b.target.os,
      { family: 'debian', mode: 'require', release: 'trixie' },
    ],
    [
      'os by image',
      { os: { family: 'image', reference: 'ghcr.io/a/b@sha256:00' } },
      (b) => b.target.os,
      { family: 'image', mode: 'prefer', reference: 'ghcr.io/a/b@sha256:00' },
    ],
    [
      'target.runtime by name',
      { target: { runtime: 'docker' } },
      (b) => b.target.runtime,
      { name: 'docker', mode: 'prefer' },
    ],
    ['outbound true', { runtime: { network: { outbound: true } } }, (b) => b.runtime.network.mode, 'open'],
    ['outbound false', { runtime: { network: { outbound: false } } }, (b) => b.runtime.network.mode, 'off'],
    ['allow without a mode', { runtime: { network: { allow: ['npm'] } } }, (b) => b.runtime.network.mode, 'allowlist'],
    ['deny without a mode', { runtime: { network: { deny: ['npm'] } } }, (b) => b.runtime.network.mode, 'open'],
    [
      'outbound beside allow',
      { runtime: { network: { outbound: true, allow: ['npm'] } } },
      (b) => b.runtime.network.mode,
      'open',
    ],
    [
      'network entries in one spelling',
      {
        runtime: { network: { mode: 'allowlist', allow: ['npm', 'GitHub.com', '10.0.0.0/8'], deny: ['preset:pypi'] } },
      },
      (b) => b.runtime.network,
      { mode: 'allowlist', allow: ['preset:npm', 'github.com', '10.0.0.0/8'], deny: ['preset:pypi'] },
    ],
    [
      'limits of the network in one order, and each secret once',
      { runtime: { network: { secrets: ['b', 'a', 'b'], limits: { connections: 5, totalMiB: 1 } } } },
      (b) => JSON.stringify(b.runtime.network),
      '{"mode":"open","allow":[],"deny":[],"limits":{"totalMiB":1,"connections":5},"secrets":["b","a"]}',
    ],
    [
      'no limits and no secrets, which are left out',
      { runtime: { network: { secrets: [], limits: {} } } },
      (b) => JSON.stringify(b.runtime.network),
      '{"mode":"open","allow":[],"deny":[]}',
    ],
    [
      'resources',
      { runtime: { resources: { pids: 64, cpus: 0.5 } } },
      (b) => JSON.stringify(b.runtime.resources),
      '{"cpus":0.5,"pids":64}',
    ],
    [
      'the workspace root moves the repository',
      { setup: 'a', runtime: { workspaceRoot: '/srv/w/' } },
      (b) => [b.runtime.workspaceRoot, b.lifecycle.setup[0]?.workingDirectory],
      ['/srv/w', '/srv/w/repo'],
    ],
    [
      'context',
      { context: { issue: 'acme/api#7', labels: { team: 'x' } } },
      (b) => b.context,
      { labels: { team: 'x' }, issue: 'acme/api#7' },
    ],
    [
      'customization',
      { customization: { shell: 'fish', applyDotfiles: false, bootstrapCommand: 'a\nb' } },
      (b) => b.customization.shell,
      'fish',
    ],
  ])('%s', (_, spec, part, expected) => {
    expect(part(from(spec))).toEqual(expected);
    expect(userWorkspaceSpecSchema.safeParse({ source: url, ...spec }).success).toBe(true);
  });
});

test('a step without an id never takes the id that another step chose', () => {
  const { setup } = from({ setup: [{ run: 'a', id: 'setup-2' }, 'b', 'c'] }).lifecycle;
  expect(setup.map(({ id }) => id)).toEqual(['setup-2', 'setup-3', 'setup-4']);
});

describe('repeated packages', () => {
  test.each<[string, unknown[], object[]]>([
    ['an exact repeat folds', ['git@2', { id: 'git', version: '2' }], [{ id: 'git', version: '2' }]],
    ['an unversioned repeat folds into the first', ['git@2', 'jq', 'git'], [{ id: 'git', version: '2' }, { id: 'jq' }]],
    [
      'a versioned repeat gives the first its version',
      ['git', 'jq', 'git@2'],
      [{ id: 'git', version: '2' }, { id: 'jq' }],
    ],
    ['a scope is part of the id', ['@a/b', '@a/b@1.0', 'b'], [{ id: '@a/b', version: '1.0' }, { id: 'b' }]],
  ])('%s', (_, packages, expected) => {
    expect(from({ packages }).tooling.packages).toEqual(expected);
  });
});

test('a blueprint with every optional field is its own normal form, and the schema knows every field', () => {
  const command = { run: 'x', shell: 'bash', workingDirectory: '/srv' };
  const complete = {
    version: '1',
    sources: {
      workspace: { ...git, ref: 'main', authRef: 'gh' },
      inputs: [
        { id: 'config-1', purpose: 'config', ...git, ref: 'v1', authRef: 'gh', mountPath: '/opt/c' },
        { id: 'bootstrap-1', purpose: 'bootstrap', kind: 'archive', url: 'https://h/a.tgz', mountPath: '/opt/b' },
        { id: 'dotfiles-1', purpose: 'dotfiles', kind: 'folder', path: 'd', mountPath: '/opt/d' },
      ],
    },
    harness: { id: 'codex', profile: 'fast', version: '1' },
    access: { ssh: { enabled: true, listenPort: 22, authorizedKeysRef: 'team' } },
    tooling: { packages: [{ id: 'git', version: '2' }] },
    customization: {
      shell: 'zsh',
      dotfilesManager: 'stow',
      dotfilesTarget: 'config',
      applyDotfiles: false,
      dotfilesBootstrap: false,
      bootstrapCommand: 'x',
    },
    lifecycle: {
      setup: [{ id: 'a', ...command }],
      startup: { steps: [{ id: 'b', ...command }], foreground: { kind: 'command', ...command } },
    },
    runtime: {
      env: { A: '' },
      workspaceRoot: '/w',
      persistence: 'persistent',
      ociRuntime: 'kata',
      network: {
        mode: 'off',
        allow: ['a.io'],
        deny: ['b.io'],
        limits: { totalMiB: 1, kibPerSecond: 1, connections: 1, connectionsPerSecond: 1 },
        secrets: ['s'],
      },
      resources: { cpus: 1, memoryMiB: 16, diskMiB: 16, pids: 8 },
    },
    target: { os: { family: 'debian', mode: 'require', release: 'trixie' }, runtime: { name: 'oci', mode: 'require' } },
    context: { labels: { a: '' }, issue: 'i', pullRequest: 'p', requestedBy: 'r' },
  };
  expect(JSON.stringify(normalizeUserWorkspaceSpec(complete))).toBe(JSON.stringify(complete));
  expect(userWorkspaceSpecSchema.parse(complete)).toEqual(complete);
});

test('parse gives the spec back as it was written, without what has no value', () => {
  const spec = { source: url, packages: 'git', harness: undefined };
  const parsed = parseUserWorkspaceSpec(spec);
  expect(parsed).toEqual({ source: url, packages: 'git' });
  expect(Object.keys(parsed)).toEqual(['source', 'packages']);
  expect(() => parseUserWorkspaceSpec({ source: 5 })).toThrow(SpecError);
});

test('the schema reports the problems of the reader, with code and hint', () => {
  const result = userWorkspaceSpecSchema.safeParse({ source: url, pakages: [] });
  expect(result.error?.issues).toEqual([
    {
      code: 'custom',
      path: ['pakages'],
      message: '`pakages` is not a key of a spec.',
      params: { code: 'unknown_key', hint: 'did you mean `packages`?' },
    },
  ]);
});

test('a read-only root is in the blueprint when it is wanted, and absent otherwise', () => {
  const runtimeOf = (readOnlyRoot: unknown) =>
    normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime: { readOnlyRoot } }).runtime;
  expect(runtimeOf(true).readOnlyRoot).toBe(true);
  expect(runtimeOf(false)).not.toHaveProperty('readOnlyRoot');
  expect(() => runtimeOf('yes')).toThrow(/runtime\.readOnlyRoot/);
});
