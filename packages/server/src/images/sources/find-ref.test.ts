import { describe, expect, test } from 'vitest';
import { findRef, nearRefs, wantedNames } from './find-ref.ts';

const ids = { main: 'a'.repeat(40), tag: 'b'.repeat(40), put: 'c'.repeat(40) };
const refs = [
  { name: 'HEAD', id: ids.main, target: 'refs/heads/main' },
  { name: 'refs/heads/main', id: ids.main },
  { name: 'refs/heads/feature/login', id: ids.put },
  { name: 'refs/heads/v1.0', id: ids.put },
  { name: 'refs/tags/v1.0', id: ids.tag, peeled: ids.put },
  { name: 'refs/heads/-x', id: ids.put },
];

describe('a ref', () => {
  test.each([
    [undefined, { commit: ids.main, branch: 'main' }],
    ['HEAD', { commit: ids.main, branch: 'main' }],
    ['refs/heads/feature/login', { commit: ids.put, branch: 'feature/login' }],
    ['heads/feature/login', { commit: ids.put, branch: 'feature/login' }],
    ['v1.0', { commit: ids.put }],
    ['tags/v1.0', { commit: ids.put }],
    // Nothing that git could take for an option is a branch to be on.
    ['-x', { commit: ids.put }],
  ])('%s is what git takes it for', (ref, found) => {
    expect(findRef(refs, ref)).toEqual(found);
  });

  test('that is not there is none, also where a longer name begins with it', () => {
    expect(findRef(refs, 'feature')).toBeUndefined();
    expect(wantedNames('feature')).toEqual(['refs/tags/feature', 'refs/heads/feature']);
  });
});

test.each([
  ['mian', 'main'],
  ['login', 'feature/login'],
  ['1.0', 'v1.0'],
  ['refs/heads/fature/login', 'feature/login'],
  ['nothing-like-it', 'main'],
])('near %s is %s', (ref, near) => {
  expect(nearRefs(refs, ref)[0]).toBe(near);
});
