import { expect, test } from 'vitest';
import { compose, normalize } from './compose.ts';

const unknown = {
  code: 'spec_invalid',
  message: 'runtime.network.allow[2]: There is no preset `nmp`.',
  problems: [{ path: 'runtime.network.allow[2]', code: 'invalid_value', hint: 'did you mean `npm`?' }],
};
const spec = { runtime: { network: { allow: ['npm', 'example.com', 'nmp'] } } };

test('a preset that does not exist is a problem of the spec', () => {
  expect(() => normalize(spec, false)).toThrow(expect.objectContaining(partly(unknown)));
});

test('a preset of a profile that does not exist is one too', () => {
  const profile = { name: 'p', version: 1, lineage: ['p@1'], network: spec.runtime.network, sourceRequired: false };
  expect(() => compose(profile, {}, {})).toThrow(expect.objectContaining(partly(unknown)));
});

function partly({ problems, ...rest }: typeof unknown) {
  return { ...rest, problems: problems.map((problem) => expect.objectContaining(problem)) };
}
