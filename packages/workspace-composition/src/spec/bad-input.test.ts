import { describe, expect, test } from 'vitest';
import { SpecError, type SpecProblem } from '../spec-error.ts';
import { normalizeUserWorkspaceSpec } from '../user-workspace-spec.ts';

const url = 'https://github.com/acme/api';

function problemsOf(input: unknown): readonly SpecProblem[] {
  try {
    normalizeUserWorkspaceSpec(input);
  } catch (error) {
    if (error instanceof SpecError) return error.problems;
    throw error;
  }
  return [];
}

type Case = [what: string, spec: object, path: string, code: string, hint?: string | RegExp];

/** Each case has one fault, and must be told as one problem. */
function expectOneProblem([, spec, path, code, hint]: Case): void {
  const problems = problemsOf({ source: url, ...spec });
  expect(problems.map((problem) => [problem.path, problem.code])).toEqual([[path, code]]);
  if (hint instanceof RegExp) expect(problems[0]?.hint).toMatch(hint);
  else expect(problems[0]?.hint).toBe(hint);
  expect(problems[0]?.message).not.toMatch(/Invalid input|received|undefined|ZodError/);
}

const each = (cases: Case[]) => test.each(cases.map((entry) => [entry[0], entry] as const));

describe('an unknown key names the nearest known one', () => {
  each([
    ['at the top', { pakages: [] }, 'pakages', 'unknown_key', 'did you mean `packages`?'],
    [
      'in another case style',
      { ssh: { listen_port: 1 } },
      'ssh.listen_port',
      'unknown_key',
      'did you mean `listenPort`?',
    ],
    ['in a section', { tooling: { package: [] } }, 'tooling.package', 'unknown_key', 'did you mean `packages`?'],
    ['in a list', { setup: [{ run: 'a', shel: 'sh' }] }, 'setup[0].shel', 'unknown_key', 'did you mean `shell`?'],
    [
      'in place of a required one',
      { packages: [{ idd: 'x' }] },
      'packages[0].idd',
      'unknown_key',
      'did you mean `id`?',
    ],
    ['but only when one is near', { flavour: 1 }, 'flavour', 'unknown_key'],
    ['that objects inherit', { toString: 1 }, 'toString', 'unknown_key'],
    ['of another kind of source', { source: { kind: 'folder', path: 'a', ref: 'b' } }, 'source.ref', 'unknown_key'],
    ['with an unprintable name', { runtime: { 'a b': 1 } }, 'runtime["a b"]', 'unknown_key'],
  ])('%s', (_, entry) => expectOneProblem(entry));

  test('and a misspelt source is not reported as a missing one too', () => {
    expect(problemsOf({ sorce: url })).toMatchObject([{ path: 'sorce', hint: 'did you mean `source`?' }]);
    expect(problemsOf({ sources: { workspce: url } })).toMatchObject([{ path: 'sources.workspce' }]);
  });
});

describe('a wrong type says how the value is written', () => {
  each([
    [
      'a number as a string',
      { ssh: { listenPort: '2222' } },
      'ssh.listenPort',
      'wrong_type',
      'Write it without quotes: 2222.',
    ],
    [
      'a boolean as a string',
      { ssh: { enabled: 'true' } },
      'ssh.enabled',
      'wrong_type',
      'Write it without quotes: true.',
    ],
    ['a whole field as a string', { ssh: 'no' }, 'ssh', 'wrong_type', 'Write it without quotes: false.'],
    ['a string as a number', { env: { PORT: 80 } }, 'env.PORT', 'wrong_type', 'Write it in quotes: "80".'],
    [
      'a version as a number',
      { packages: [{ id: 'a', version: 20 }] },
      'packages[0].version',
      'wrong_type',
      'Write it in quotes: "20".',
    ],
    ['the spec version as a number', { version: 1 }, 'version', 'wrong_type', 'Write it in quotes: "1".'],
    ['nothing', { setup: null }, 'setup', 'wrong_type', 'Give it a value or leave the key out.'],
    ['a list for an object', { runtime: [] }, 'runtime', 'wrong_type'],
    ['an object for a list', { inputs: {} }, 'inputs', 'wrong_type'],
    ['a number for a source', { source: 5 }, 'source', 'wrong_type'],
    ['a number for a startup', { startup: 5 }, 'startup', 'wrong_type'],
    [
      'a word that does not exist',
      { harness: 'claude-cod' },
      'harness',
      'invalid_value',
      'did you mean `claude-code`?',
    ],
    [
      'an infinite number',
      { runtime: { resources: { cpus: Number.POSITIVE_INFINITY } } },
      'runtime.resources.cpus',
      'wrong_type',
    ],
  ])('%s', (_, entry) => expectOneProblem(entry));
});

describe('a field and its alias conflict at the path of the field', () => {
  each([
    ['inputs', { inputs: [], sources: { inputs: [] } }, 'inputs', 'conflict', 'Keep one of them.'],
    ['ssh', { ssh: true, access: { ssh: true } }, 'ssh', 'conflict', 'Keep one of them.'],
    ['packages', { packages: [], tooling: { packages: [] } }, 'packages', 'conflict', 'Keep one of them.'],
    ['setup', { setup: 'a', lifecycle: { setup: 'a' } }, 'setup', 'conflict', 'Keep one of them.'],
    ['startup', { startup: 'a', lifecycle: { startup: 'a' } }, 'startup', 'conflict', 'Keep one of them.'],
    ['env', { env: {}, runtime: { env: {} } }, 'env', 'conflict', 'Keep one of them.'],
    ['os', { os: 'debian', target: { os: 'debian' } }, 'os', 'conflict', 'Keep one of them.'],
    ['source and repo', { repo: url }, 'source', 'conflict', 'Keep one of them.'],
    ['all three sources', { repo: url, sources: { workspace: url } }, 'source', 'conflict', 'Keep one of them.'],
    [
      'mode and outbound',
      { runtime: { network: { mode: 'off', outbound: false } } },
      'runtime.network.mode',
      'conflict',
      'Keep `mode`.',
    ],
    ['path and url', { source: { kind: 'archive', path: 'a', url: 'https://h/a' } }, 'source', 'conflict'],
    ['a release without a distribution', { os: { family: 'host', release: '1' } }, 'os.release', 'conflict'],
    ['a reference without an image', { os: { family: 'nix', reference: 'a' } }, 'os.reference', 'conflict'],
  ])('%s', (_, entry) => expectOneProblem(entry));

  test('repo and sources.workspace conflict at repo', () => {
    expect(problemsOf({ repo: url, sources: { workspace: url } })).toMatchObject([{ path: 'repo', code: 'conflict' }]);
  });
});

describe('a missing part is named', () => {
  each([
    ['the kind of a source', { source: { url } }, 'source.kind', 'required', 'Add `kind: git`.'],
    ['the URL of a git source', { source: { kind: 'git' } }, 'source.url', 'required'],
    ['the place of an archive', { source: { kind: 'archive' } }, 'source.path', 'required'],
    ['the purpose of an input', { inputs: [{ kind: 'git', url }] }, 'inputs[0].purpose', 'required', /purpose: config/],
    ['the command of a step', { setup: [{}] }, 'setup[0].run', 'required'],
    ['the reference of an image', { os: 'image' }, 'os', 'required', /family: image/],
    ['the id of a harness', { harness: {} }, 'harness.id', 'required'],
  ])('%s', (_, entry) => expectOneProblem(entry));
});

describe('a bad text is refused', () => {
  each([
    ['a NUL in a command', { setup: 'a\0b' }, 'setup', 'control_character'],
    ['a NUL in an environment value', { env: { A: '\0' } }, 'env.A', 'control_character'],
    ['a NUL in a key', { env: { 'A\0': '' } }, 'env["A\\u0000"]', 'control_character'],
    ['a newline in a package name', { packages: ['gi\nt'] }, 'packages[0]', 'control_character'],
    ['a newline in a label', { context: { labels: { a: 'x\ny' } } }, 'context.labels.a', 'control_character'],
    [
      'a newline in the name of a label',
      { context: { labels: { 'x\ny': 'a' } } },
      'context.labels["x\\ny"]',
      'control_character',
    ],
    ['half a surrogate pair', { env: { A: 'x\ud800' } }, 'env.A', 'invalid_unicode'],
    [
      'half a surrogate pair in a key',
      { context: { labels: { '\udc00': '' } } },
      'context.labels["\\udc00"]',
      'invalid_unicode',
    ],
    ['an option as a package', { packages: ['--force'] }, 'packages[0]', 'invalid_value'],
    ['an empty version', { packages: ['git@'] }, 'packages[0]', 'invalid_value'],
    ['a name and a version that are both broken', { packages: ['g it@-'] }, 'packages[0]', 'invalid_value'],
    ['two versions', { packages: ['git@1', 'git@2'] }, 'packages[1]', 'version_conflict'],
    ['an environment name', { env: { '1A': '' } }, 'env["1A"]', 'invalid_value'],
    ['an option as a ref', { source: { kind: 'git', url, ref: '-x' } }, 'source.ref', 'invalid_value', /branch/],
    ['an option as an image', { os: { family: 'image', reference: '-x' } }, 'os.reference', 'invalid_value'],
    [
      'a key in place of its name',
      { ssh: { authorizedKeysRef: 'ssh-ed25519 AAAA' } },
      'ssh.authorizedKeysRef',
      'invalid_value',
      /Store/,
    ],
    ['a blank command', { setup: [' \n'] }, 'setup[0]', 'invalid_value'],
    ['a climbing path', { setup: { run: 'a', workingDirectory: '../x' } }, 'setup.workingDirectory', 'invalid_value'],
    ['a root of /', { runtime: { workspaceRoot: '//' } }, 'runtime.workspaceRoot', 'invalid_value'],
    [
      'a relative mount',
      { inputs: [{ purpose: 'config', kind: 'folder', path: 'a', mountPath: 'b' }] },
      'inputs[0].mountPath',
      'invalid_value',
      'Begin it with `/`.',
    ],
    [
      'a foreign input id',
      { inputs: [{ purpose: 'config', kind: 'folder', path: 'a', id: 'config-2' }] },
      'inputs[0].id',
      'invalid_value',
      'Leave `id` out.',
    ],
    [
      'an input of no kind',
      { inputs: [{ purpose: 'config', kind: 'none', path: 'a' }] },
      'inputs[0].kind',
      'invalid_value',
    ],
    [
      'two steps of one id',
      {
        setup: [
          { id: 'a', run: 'x' },
          { id: 'a', run: 'y' },
        ],
      },
      'setup[1].id',
      'duplicate',
    ],
    ['a port out of range', { ssh: { listenPort: 65_536 } }, 'ssh.listenPort', 'out_of_range'],
    ['a fraction of a process', { runtime: { resources: { pids: 8.5 } } }, 'runtime.resources.pids', 'out_of_range'],
    ['no processor', { runtime: { resources: { cpus: 0 } } }, 'runtime.resources.cpus', 'out_of_range'],
    [
      'a URL as a network entry',
      { runtime: { network: { allow: ['https://a.b'] } } },
      'runtime.network.allow[0]',
      'invalid_value',
      /host alone/,
    ],
    [
      'a limit of nothing',
      { runtime: { network: { limits: { totalMiB: 0 } } } },
      'runtime.network.limits.totalMiB',
      'out_of_range',
    ],
    [
      'an unknown limit',
      { runtime: { network: { limits: { connection: 1 } } } },
      'runtime.network.limits.connection',
      'unknown_key',
      /`connections`/,
    ],
    [
      'a secret instead of its name',
      { runtime: { network: { secrets: ['Bearer abc'] } } },
      'runtime.network.secrets[0]',
      'invalid_value',
      /Store the secret/,
    ],
    [
      'too many secrets',
      { runtime: { network: { secrets: Array.from({ length: 101 }, (_, n) => `s${n}`) } } },
      'runtime.network.secrets',
      'too_many',
    ],
    ['a version of another time', { version: '2' }, 'version', 'invalid_value'],
    [
      'too many labels',
      { context: { labels: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`l${n}`, ''])) } },
      'context.labels',
      'too_many',
    ],
    ['too many steps', { setup: Array(257).fill('a') }, 'setup', 'too_many'],
    ['a long name', { harness: { id: 'codex', profile: 'p'.repeat(65) } }, 'harness.profile', 'too_long'],
  ])('%s', (_, entry) => expectOneProblem(entry));
});

test('an address with credentials is refused, and the credentials are not repeated', () => {
  for (const secret of [
    'https://me:s3cret@h.io/x',
    'https://s3cret@h.io/x',
    'ssh://git:s3cret@h.io/x',
    'https://a:s3cret@@h.io/x',
  ]) {
    const problems = problemsOf({ source: secret });
    expect(problems.map(({ path }) => path)).toEqual(['source']);
    expect(JSON.stringify(problems)).not.toContain('s3cret');
  }
  expect(problemsOf({ source: 'https://me:t@h.io/x' })[0]?.hint).toContain('authRef');
});

test('all problems of a spec are reported at once', () => {
  const problems = problemsOf({
    repo: 'x y',
    ssh: { listenPort: '1' },
    packges: [],
    env: { A: 1, 'B-': '' },
    setup: [3],
  });
  expect(problems.map(({ path, code }) => `${path} ${code}`).sort()).toEqual([
    'env.A wrong_type',
    'env.B- invalid_value',
    'packges unknown_key',
    'repo invalid_value',
    'setup[0] wrong_type',
    'ssh.listenPort wrong_type',
  ]);
});

test('past a hundred problems the rest is counted', () => {
  const env = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`N${index}`, 1]));
  const problems = problemsOf({ source: url, env });
  expect(problems).toHaveLength(101);
  expect(problems[100]).toEqual({ path: '$', code: 'more_problems', message: '50 more problems not shown.' });
});
