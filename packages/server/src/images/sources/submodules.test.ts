import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readCommits, readSubmodules } from './submodules.ts';

const parent = 'https://host.example/group/this.git';
const written = (path: string, url: string) => `submodule.x.path\n${path}\0submodule.x.url\n${url}\0`;

test.each([
  ['https://other.example/a.git', parent, 'https://other.example/a.git'],
  ['../a.git', parent, 'https://host.example/group/a.git'],
  ['./a', parent, 'https://host.example/group/this.git/a'],
  ['../../../../a', parent, 'https://host.example/a'],
  ['../a.git', 'git@host.example:group/this.git', 'git@host.example:group/a.git'],
])('the address %s beside %s is %s', (url, from, found) => {
  expect(readSubmodules(written('lib/a', url), from)).toEqual([{ path: 'lib/a', url: found }]);
});

test.each([
  'ext::sh -c id',
  '-uhttps://x',
  '--upload-pack=id',
  'file:///etc',
  '/etc',
  'https://u:p@host/x',
  'fd::17',
  'http://a/\nb',
])('the address %j is refused', (url) => {
  expect(() => readSubmodules(written('lib', url), parent)).toThrow(/is not one that is fetched from/);
});

test.each(['../x', '/etc', '-x', 'a/../../b', '.git/hooks', 'a/.GIT', 'a//b', 'a\u001bb', '.', ''])(
  'the path %j is refused',
  (path) => {
    expect(() => readSubmodules(written(path, 'https://a.example/b'), parent)).toThrow(/outside of it/);
  },
);

test('whatever is written, no address but of git and no path but within comes out', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (path, url) => {
      try {
        for (const found of readSubmodules(written(path, url), parent)) {
          expect(found.url).toMatch(/^(?:https?|ssh|git):\/\/|^[^@/:]+@[^@/:]+:/);
          expect(found.path.split('/')).not.toContain('..');
        }
      } catch (error) {
        expect(error).toMatchObject({ code: 'source_failed' });
      }
    }),
  );
});

test('only submodules have commits', () => {
  const commit = 'a'.repeat(40);
  expect(readCommits(`160000 ${commit} 0\tlib/a\u0000100644 ${commit} 0\tfile\0`)).toEqual(
    new Map([['lib/a', commit]]),
  );
});
