import { expect, test } from 'vitest';
import { nearest } from './did-you-mean.ts';

const known = ['source', 'repo', 'packages', 'ssh', 'setup', 'startup', 'env', 'os', 'listenPort'];

test.each([
  ['pakages', 'packages'],
  ['packges', 'packages'],
  ['pacakges', 'packages'],
  ['package', 'packages'],
  ['Packages', 'packages'],
  ['listen_port', 'listenPort'],
  ['listenport', 'listenPort'],
  ['repository', 'repo'],
  ['environment', 'env'],
  ['shh', 'ssh'],
  ['rpeo', 'repo'],
  ['setpu', 'setup'],
  ['sturtup', 'startup'],
])('%s was meant to be %s', (word, meant) => {
  expect(nearest(word, known)).toBe(meant);
});

test.each(['flavour', 'x', 'zz', '', 'toString', 'constructor', 'packages'.repeat(10)])(
  '%s is near to nothing',
  (word) => {
    expect(nearest(word, known)).toBeUndefined();
  },
);

test('the nearest wins, and of equals the first', () => {
  expect(nearest('stat', ['start', 'stats', 'state'])).toBe('start');
  expect(nearest('states', ['start', 'state'])).toBe('state');
});
