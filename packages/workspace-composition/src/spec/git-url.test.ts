import { describe, expect, test } from 'vitest';
import { gitRefRule } from './git-ref.ts';
import { faultOfArchiveUrl, faultOfGitUrl, inferProvider } from './git-url.ts';
import { faultOfText } from './text.ts';

describe('a git URL', () => {
  test.each([
    'https://github.com/acme/api',
    'https://github.com/acme/api.git',
    'http://git.internal:3000/a',
    'ssh://git@github.com/acme/api',
    'ssh://git@host:2222/~me/x',
    'git://kernel.org/linux',
    'git@github.com:acme/api.git',
    'git@host:/srv/x',
    'https://[2001:db8::1]:8443/x',
    'https://host/a@b/c',
  ])('%s is accepted', (url) => {
    expect(faultOfGitUrl(url)).toBeUndefined();
  });

  test.each([
    '-oProxyCommand=x',
    '--upload-pack=x',
    'ssh://-oProxyCommand=x/y',
    'ssh://-x@host/y',
    '-x@host:y',
    'git@-oProxyCommand=x:y',
    'git@host:-x',
    'ext::sh -c id',
    'git@ext::x',
    'file:///etc',
    'ftp://host/x',
    'HTTPS://host/x',
    'https://host',
    'https://host//',
    'https:///x',
    'https://host:0/x',
    'https://host:65536/x',
    'https://host/x?token=1',
    'https://host/x#main',
    'https://ho st/x',
    'https://host/x%0ay',
    'https://host\\@evil/x',
    'https://me@host/x',
    'ssh://me:pw@host/x',
    'acme/api',
    './api',
    '/srv/api',
    'C:\\api',
    'none',
  ])('%s is refused', (url) => {
    expect(faultOfGitUrl(url)).toMatchObject({ code: 'invalid_value' });
  });

  test.each([
    ['./api', /kind: folder/],
    ['~/api', /kind: folder/],
    ['file:///api', /kind: folder/],
    ['acme/api', /https:\/\/github\.com\/acme\/api/],
    ['https://me:pw@host/x', /authRef/],
    ['https://host/x#main', /`ref`/],
  ])('%s is answered with what to write instead', (url, hint) => {
    expect(faultOfGitUrl(url)?.hint).toMatch(hint);
  });
});

test.each([
  ['https://github.com/a/b', 'github'],
  ['https://GitHub.com./a/b', 'github'],
  ['https://api.github.com/a/b', 'github'],
  ['git@github.com:a/b', 'github'],
  ['ssh://git@gitlab.com:22/a/b', 'gitlab'],
  ['https://code.gitlab.com/a', 'gitlab'],
  ['https://notgithub.com/a', 'generic'],
  ['https://github.com.evil.io/a', 'generic'],
  ['https://evil.io/github.com/a', 'generic'],
  ['git@evil.io:github.com/a', 'generic'],
])('the provider of %s is %s', (url, provider) => {
  expect(inferProvider(url)).toBe(provider);
});

test('an archive URL is http or https, names an archive and carries no credential', () => {
  for (const url of ['https://h/a.tgz', 'http://h:80/a?v=2']) expect(faultOfArchiveUrl(url)).toBeUndefined();
  const refused = [
    'a.tgz',
    'ssh://h/a',
    'https://h/',
    'https://h',
    'https://u:p@h/a',
    'https://h/a?X-Amz-Signature=1',
    '-x',
  ];
  for (const url of refused) expect(faultOfArchiveUrl(url), url).toMatchObject({ code: 'invalid_value' });
});

test('a git ref is what git accepts and never an option', () => {
  const fault = (ref: string) => faultOfText(gitRefRule, ref)?.code;
  for (const ref of ['main', 'v1.0', 'feature/a-b', 'refs/heads/x', 'a'.repeat(40), 'größe', 'a@b']) {
    expect(fault(ref), ref).toBeUndefined();
  }
  const refused = [
    '-x',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    '/a',
    'a/',
    'a//b',
    'a.lock',
    '.a',
    'a.',
    '@',
    'a@{1}',
  ];
  for (const ref of refused) expect(fault(ref), ref).toBe('invalid_value');
  expect(fault('a\nb')).toBe('control_character');
  expect(fault('a'.repeat(256))).toBe('too_long');
});
