import { expect, test } from 'vitest';
import { guestErrors } from '../protocol/errors.ts';
import { fromReset } from './translate-error.ts';

const reset = (code: keyof typeof guestErrors, message = '') => ({ code, message });

test('a refused fork is a limit of the sandbox, not of streams', () => {
  expect(fromReset('process.spawn', reset('limit_reached'))).toMatchObject({ code: 'max_processes_reached' });
  expect(fromReset('file.watch', reset('limit_reached'))).toMatchObject({ code: 'too_many_streams' });
});

test('what is busy is told apart: a file, or a process', () => {
  expect(fromReset('file.remove', reset('busy'), '/mnt')).toMatchObject({ code: 'file_busy' });
  expect(fromReset('process.forget', reset('busy'))).toMatchObject({ code: 'process_busy' });
});

test('a full disk is told as such, with the path of the file, once', () => {
  for (const code of ['no_space', 'quota_exceeded'] as const) {
    const error = fromReset('file.write', reset(code, 'No space left'), '/a/b');
    expect(error).toMatchObject({
      code: 'disk_quota_exceeded',
      message: '/a/b: No space left',
      context: { path: '/a/b' },
    });
  }
  expect(fromReset('file.stat', reset('not_found', '/a/b: No such file'), '/a/b').message).toBe('/a/b: No such file');
});

test.each(Object.keys(guestErrors) as (keyof typeof guestErrors)[])('%s becomes one of our errors', (code) => {
  expect(fromReset('file.read', reset(code))).toMatchObject({ context: { guestCode: code } });
});
