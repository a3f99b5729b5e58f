import { describe, expect, test } from 'vitest';
import { SpecError } from '../spec-error.ts';
import { normalizeUserWorkspaceSpec } from '../user-workspace-spec.ts';

const presets = new Set(['npm', 'pypi', 'debian']);

function problemsOf(network: unknown, more: object = {}) {
  try {
    normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime: { network }, ...more }, { presets });
    return [];
  } catch (error) {
    if (!(error instanceof SpecError)) throw error;
    return error.problems;
  }
}

describe('presets', () => {
  test('that exist are taken, in both spellings', () => {
    expect(problemsOf({ allow: ['npm', 'preset:pypi'], deny: ['Debian'] })).toEqual([]);
  });

  test('that do not are told with their path and what was probably meant', () => {
    expect(problemsOf({ allow: ['npm', 'example.com', 'nmp'], deny: ['preset:pypii'] })).toEqual([
      {
        path: 'runtime.network.allow[2]',
        code: 'invalid_value',
        message: 'There is no preset `nmp`.',
        hint: 'did you mean `npm`?',
      },
      {
        path: 'runtime.network.deny[0]',
        code: 'invalid_value',
        message: 'There is no preset `pypii`.',
        hint: 'did you mean `pypi`?',
      },
    ]);
  });

  test('are listed when none is near', () => {
    expect(problemsOf({ allow: ['intranet'] })).toMatchObject([{ hint: 'Presets are npm, pypi, debian.' }]);
  });

  test('are told together with the other problems of the spec', () => {
    const paths = problemsOf({ allow: ['nmp'] }, { packges: [] }).map(({ path }) => path);
    expect(paths.sort()).toEqual(['packges', 'runtime.network.allow[0]']);
  });

  test('are not looked up where nobody says which exist', () => {
    const spec = { source: { kind: 'none' }, runtime: { network: { allow: ['nmp'] } } };
    expect(normalizeUserWorkspaceSpec(spec).runtime.network.allow).toEqual(['preset:nmp']);
  });
});
