import { describe, expect, test } from 'vitest';
import { parseWorkspaceBlueprint, workspaceBlueprintVersion } from './blueprint.ts';
import { SpecError } from './spec-error.ts';
import { normalizeUserWorkspaceSpec } from './user-workspace-spec.ts';

const blueprint = normalizeUserWorkspaceSpec({
  source: 'https://github.com/acme/api',
  inputs: [{ purpose: 'dotfiles', kind: 'folder', path: 'd' }],
  packages: ['git'],
  setup: ['make'],
  runtime: { network: { mode: 'allowlist', allow: ['npm'] } },
});

/** The blueprint with the value at a path replaced; `undefined` removes it. */
function changed(path: (string | number)[], value: unknown): unknown {
  const root: unknown = structuredClone(blueprint);
  const last = path[path.length - 1] ?? '';
  const place = path.slice(0, -1).reduce<unknown>((node, key) => (node as Record<string | number, unknown>)[key], root);
  if (value === undefined) delete (place as Record<string | number, unknown>)[last];
  else (place as Record<string | number, unknown>)[last] = value;
  return root;
}

function problemsOf(input: unknown): string[] {
  try {
    parseWorkspaceBlueprint(input);
  } catch (error) {
    if (error instanceof SpecError) return error.problems.map(({ path, code }) => `${path} ${code}`);
    throw error;
  }
  return [];
}

test('a blueprint parses to itself after a journey through JSON', () => {
  expect(parseWorkspaceBlueprint(JSON.parse(JSON.stringify(blueprint)))).toEqual(blueprint);
  expect(blueprint.version).toBe(workspaceBlueprintVersion);
});

describe('a blueprint has one strict form', () => {
  test.each<[string, (string | number)[], unknown, string]>([
    ['no defaults are filled in', ['access'], undefined, 'access required'],
    ['no defaults inside a section', ['runtime', 'persistence'], undefined, 'runtime.persistence required'],
    ['no short forms', ['sources', 'workspace'], 'https://github.com/a/b', 'sources.workspace wrong_type'],
    ['no aliases', ['packages'], [], 'packages unknown_key'],
    ['another version', ['version'], '2', 'version invalid_value'],
    ['an unknown word', ['runtime', 'network', 'mode'], 'opn', 'runtime.network.mode invalid_value'],
    ['an unknown kind', ['sources', 'workspace', 'kind'], 'svn', 'sources.workspace.kind invalid_value'],
    ['a wrong type', ['access', 'ssh', 'enabled'], 'yes', 'access.ssh.enabled wrong_type'],
    ['a port out of range', ['access', 'ssh', 'listenPort'], 0, 'access.ssh.listenPort out_of_range'],
    [
      'an entry that is not canonical',
      ['runtime', 'network', 'allow', 0],
      'npm',
      'runtime.network.allow[0] invalid_value',
    ],
    ['limits without a limit', ['runtime', 'network', 'limits'], {}, 'runtime.network.limits invalid_value'],
    ['secrets without a secret', ['runtime', 'network', 'secrets'], [], 'runtime.network.secrets invalid_value'],
    ['a repeated secret', ['runtime', 'network', 'secrets'], ['a', 'a'], 'runtime.network.secrets[1] duplicate'],
    ['a path that is not normalized', ['runtime', 'workspaceRoot'], '/w/', 'runtime.workspaceRoot invalid_value'],
    [
      'a relative directory',
      ['lifecycle', 'setup', 0, 'workingDirectory'],
      'web',
      'lifecycle.setup[0].workingDirectory invalid_value',
    ],
    ['a foreign input id', ['sources', 'inputs', 0, 'id'], 'dotfiles-7', 'sources.inputs[0].id invalid_value'],
    ['a repeated package', ['tooling', 'packages', 1], { id: 'git' }, 'tooling.packages[1] duplicate'],
    [
      'a repeated step',
      ['lifecycle', 'setup', 1],
      { ...blueprint.lifecycle.setup[0] },
      'lifecycle.setup[1].id duplicate',
    ],
    [
      'too many steps',
      ['lifecycle', 'setup'],
      Array.from({ length: 257 }, (_, n) => ({ ...blueprint.lifecycle.setup[0], id: `s${n}` })),
      'lifecycle.setup too_many',
    ],
    ['an image without a reference', ['target', 'os', 'family'], 'image', 'target.os.reference required'],
    ['a release of no distribution', ['target', 'os', 'release'], '12', 'target.os.release conflict'],
    ['a reference of no image', ['target', 'os', 'reference'], 'a', 'target.os.reference conflict'],
    ['an archive from nowhere', ['sources', 'workspace'], { kind: 'archive' }, 'sources.workspace conflict'],
    ['a bad environment name', ['runtime', 'env', 'A-B'], '', 'runtime.env.A-B invalid_value'],
    ['a newline in a label', ['context', 'labels', 'a'], 'b\n', 'context.labels.a control_character'],
    ['null for an absent field', ['harness', 'version'], null, 'harness.version wrong_type'],
  ])('%s', (_, path, value, problem) => {
    expect(problemsOf(changed(path, value))).toEqual([problem]);
  });

  test('the bounds of a spec hold here too', () => {
    expect(problemsOf(changed(['context', 'labels'], JSON.parse('{"__proto__":"x"}')))).toEqual([
      'context.labels.__proto__ forbidden_key',
    ]);
    expect(problemsOf(null)).toEqual(['$ wrong_type']);
  });
});
