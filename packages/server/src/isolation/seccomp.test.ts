import { expect, test } from 'vitest';
import { allowedCalls, deniedCalls, seccompProfile } from './seccomp.ts';

test('no call is both allowed and denied, and none is named twice', () => {
  const all = [...allowedCalls, ...deniedCalls];
  expect(new Set(all).size).toBe(all.length);
});

test('a call of which only some forms are allowed is not denied by name', () => {
  const conditional = seccompProfile().syscalls.flatMap(({ args, names }) => (args ? names : []));
  expect(deniedCalls.filter((name) => conditional.includes(name))).toEqual([]);
  expect(conditional).toContain('socket');
});
