import { newId } from '@caisson/contract';
import { expect, test } from 'vitest';
import type { NewAuditRow } from '../store/audit.ts';
import { Strangers } from './strangers.ts';

const row = (change: Partial<NewAuditRow>): NewAuditRow => ({
  id: newId('audit'),
  time: 0,
  actor: 'stranger',
  action: 'sandbox.list',
  count: 1,
  ...change,
});

test('equal refusals are one line with their number', () => {
  const strangers = new Strangers();
  for (let n = 0; n < 7; n += 1) strangers.add(row({ address: '10.0.0.1', code: 'unauthenticated' }));
  strangers.add(row({ address: '10.0.0.2', code: 'unauthenticated' }));
  expect(strangers.take()).toMatchObject([
    { address: '10.0.0.1', count: 7 },
    { address: '10.0.0.2', count: 1 },
  ]);
  expect(strangers.isEmpty).toBe(true);
});

test('however many come from everywhere, there are twenty lines at most and none is uncounted', () => {
  const strangers = new Strangers();
  for (let n = 0; n < 10_000; n += 1) strangers.add(row({ address: `10.0.${n >> 8}.${n & 255}` }));
  const lines = strangers.take();
  expect(lines).toHaveLength(20);
  expect(lines.at(-1)).toMatchObject({ action: 'other', address: null });
  expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
});
