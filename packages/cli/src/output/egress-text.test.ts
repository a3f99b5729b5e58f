import type { EgressRecord } from '@caisson/contract';
import { expect, test } from 'vitest';
import { egressText, usageText } from './egress-text.ts';

const screen = { paint: (text: string) => text };
const record: EgressRecord = {
  position: 1,
  time: '2026-01-02T03:04:05.678Z',
  verdict: 'allowed',
  host: 'a.example',
  port: 443,
  protocol: 'connect',
  address: '192.0.2.1',
  rule: '*.example',
  why: null,
  suggestion: null,
  secrets: [],
  count: 1,
};
const text = (more: Partial<EgressRecord>) =>
  egressText(screen, { ...record, ...more }, 'web')
    .split('  ')
    .slice(1);

test('what was allowed says by which rule, with which secrets and how often', () => {
  expect(text({ secrets: ['token'], count: 3 })).toEqual([
    'allowed',
    'a.example:443',
    'connect',
    'by *.example with token',
    '(3 times)',
  ]);
});

test('what was refused says why, and the command that would allow it', () => {
  const refused = { verdict: 'refused', why: 'not_allowed', rule: null, suggestion: 'a.example:443' } as const;
  expect(text(refused)).toEqual([
    'refused',
    'a.example:443',
    'connect',
    'no rule allows it',
    'allow it: caisson network allow web a.example:443',
  ]);
  expect(text({ ...refused, host: '2001:db8::1', suggestion: '[2001:db8::1]:443' })).toEqual(
    expect.arrayContaining(['[2001:db8::1]:443', "allow it: caisson network allow web '[2001:db8::1]:443'"]),
  );
  expect(text({ ...refused, why: 'denied', rule: 'a.example', suggestion: null })).toContain(
    'a rule denies it: a.example',
  );
});

test.each(['a;reboot', '$(reboot)', 'a\u001b[2J', '--help', "a'b", 'a b'])(
  'a suggestion that a shell would read otherwise, such as %j, is no command',
  (suggestion) => {
    const line = egressText(screen, { ...record, verdict: 'refused', why: 'not_allowed', suggestion }, 'web');
    expect(line).not.toContain('caisson network');
  },
);

test('a host from inside cannot command the terminal', () => {
  expect(text({ host: 'a\u001b[2J\n' })[1]).toBe('a\\x1b[2J\\x0a:443');
});

test('usage ends with the sum and the limits', () => {
  const traffic = { sentBytes: 2048, receivedBytes: 10, connections: 1, allowed: 2, refused: 3 };
  const usage = { hosts: [{ host: 'a.example', ...traffic }], totals: traffic, limits: { totalMiB: 5 } };
  const lines = usageText(usage).split('\n');
  expect(lines[1]).toMatch(/^a\.example +2\.0 KiB +10 B +1 +2 +3$/);
  expect(lines[2]).toMatch(/^all /);
  expect(lines.at(-1)).toBe('limits: totalMiB 5');
});
