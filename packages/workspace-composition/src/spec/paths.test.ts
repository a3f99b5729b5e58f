import { describe, expect, test } from 'vitest';
import {
  absoluteDirectoryRule,
  localPathRule,
  mountPathRule,
  resolveDirectory,
  workingDirectoryRule,
} from './paths.ts';
import { faultOfText, type TextRule } from './text.ts';

const code = (rule: TextRule, text: string) => faultOfText(rule, text)?.code;

describe('a path inside the sandbox', () => {
  test.each(['/w', '/a/b', '/a//b/./', '/procs', '/.config'])('%s may be mounted', (path) => {
    expect(code(mountPathRule, path)).toBeUndefined();
  });

  test.each(['/', '//', '/.', 'a', './a', '~/a', '/a/../b', '/..', '/proc', '/proc/1', '/sys/', '//dev/shm', ''])(
    '%s may not be mounted',
    (path) => {
      expect(code(mountPathRule, path)).toBe('invalid_value');
    },
  );

  test('is written without empty and dot segments', () => {
    const canonical = ['/a', '/a/', '//a', '/a/./b//c/.', '/a.b/..c'].map((path) => mountPathRule.canonical?.(path));
    expect(canonical).toEqual(['/a', '/a', '/a', '/a/b/c', '/a.b/..c']);
  });
});

test('a working directory is resolved against the repository', () => {
  const resolved = ['.', './', 'web', 'a//b/', '/', '/srv/'].map((path) => resolveDirectory('/w/repo', path));
  expect(resolved).toEqual(['/w/repo', '/w/repo', '/w/repo/web', '/w/repo/a/b', '/', '/srv']);
  for (const path of ['..', 'a/..', '/a/../b', '~', '~/a']) {
    expect(code(workingDirectoryRule, path)).toBe('invalid_value');
  }
});

test('the longest relative directory is still valid when it is absolute', () => {
  const longest = 'd'.repeat(1_536);
  expect(code(workingDirectoryRule, longest)).toBeUndefined();
  expect(code(workingDirectoryRule, `${longest}d`)).toBe('too_long');
  expect(code(absoluteDirectoryRule, resolveDirectory(`/${'w'.repeat(254)}/repo`, longest))).toBeUndefined();
});

test('a local path may climb but is never an option', () => {
  expect(code(localPathRule, '../x')).toBeUndefined();
  expect(faultOfText(localPathRule, '-x')).toMatchObject({ code: 'invalid_value', hint: 'Write `./-x`.' });
});
