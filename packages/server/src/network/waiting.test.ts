import { type EgressRefusal, type Id, newId } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EgressDecision } from './egress.ts';
import { Waiting } from './waiting.ts';

const sandbox: Id<'sandbox'> = newId('sandbox');

function decision(host: string, why?: EgressRefusal): EgressDecision {
  return { sandbox, host, port: 443, protocol: 'connect', verdict: why ? 'refused' : 'allowed', why };
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0);

test('equal decisions are one row with a count and the time of the first', () => {
  const waiting = new Waiting();
  for (const now of [5, 6, 7]) waiting.decided(decision('a.example'), now);
  waiting.decided(decision('a.example', 'denied'), 8);
  expect(waiting.rows()).toMatchObject([
    { host: 'a.example', verdict: 'allowed', count: 3, time: 5 },
    { host: 'a.example', verdict: 'refused', why: 'denied', count: 1 },
  ]);
  expect(waiting.traffic()).toMatchObject([{ host: 'a.example', allowed: 3, refused: 1 }]);
});

test('what differs in anything is another row', () => {
  const base = { ...decision('a.example'), address: '192.0.2.1', rule: 'a.example', secrets: ['one'] };
  const others = [{ port: 80 }, { protocol: 'http' }, { address: '192.0.2.2' }, { rule: '*' }, { secrets: ['two'] }];
  const waiting = new Waiting();
  waiting.decided(base, 1);
  for (const other of others) waiting.decided({ ...base, ...other } as EgressDecision, 1);
  expect(waiting.rows()).toHaveLength(others.length + 1);
});

test('of too many that were allowed the oldest are counted together, and no refusal is lost for them', () => {
  const waiting = new Waiting();
  for (let n = 0; n < 500; n += 1) waiting.decided(decision(`r${n}`, 'not_allowed'), n);
  for (let n = 0; n < 5_000; n += 1) waiting.decided(decision(`a${n}`), 1_000 + n);
  const rows = waiting.rows();
  expect(rows.filter(({ verdict }) => verdict === 'refused')).toHaveLength(500);
  expect(rows.find(({ host }) => host === '*')).toMatchObject({ verdict: 'allowed', count: 4_500, port: 0 });
  expect(rows.some(({ host }) => host === 'a4999')).toBe(true);
  expect(rows.some(({ host }) => host === 'a0')).toBe(false);
});

test('a flood of refusals keeps their number and their reason', () => {
  const waiting = new Waiting();
  for (let n = 0; n < 3_000; n += 1) waiting.decided(decision(`r${n}`, n % 2 === 0 ? 'denied' : 'not_allowed'), n);
  const rows = waiting.rows();
  expect(rows.length).toBeLessThanOrEqual(1_002);
  for (const why of ['denied', 'not_allowed'] as const) {
    const counts = rows.filter((row) => row.why === why).map(({ count }) => count);
    expect(sumOf(counts)).toBe(1_500);
  }
});

test('all sandboxes together are bounded, and each of them still has its count', () => {
  const waiting = new Waiting();
  const ids = Array.from({ length: 40 }, () => newId('sandbox'));
  for (const id of ids) {
    for (let n = 0; n < 1_000; n += 1) waiting.decided({ ...decision(`h${n}`), sandbox: id }, n);
  }
  const rows = waiting.rows();
  expect(rows.length).toBeLessThanOrEqual(20_000 + ids.length);
  for (const id of ids) {
    const counts = rows.filter((row) => row.sandbox === id).map(({ count }) => count);
    expect(sumOf(counts)).toBe(1_000);
  }
});

test('whatever comes in whatever order, every decision and every byte is counted once', () => {
  const some = fc.record({
    host: fc.integer({ min: 0, max: 1_500 }),
    why: fc.constantFrom<EgressRefusal | undefined>(undefined, 'denied', 'not_allowed'),
    bytes: fc.integer({ min: 0, max: 1_000 }),
  });
  fc.assert(
    fc.property(fc.array(some, { maxLength: 2_500, size: 'max' }), (all) => {
      const waiting = new Waiting();
      for (const [now, { host, why, bytes }] of all.entries()) {
        waiting.decided(decision(`h${host}`, why), now);
        waiting.moved(sandbox, `h${host}`, { sentBytes: bytes, receivedBytes: 1, connections: 1 });
      }
      const refused = all.filter(({ why }) => why !== undefined).length;
      const rows = waiting.rows();
      const traffic = waiting.traffic();
      expect(sumOf(rows.map(({ count }) => count))).toBe(all.length);
      expect(sumOf(rows.filter(({ verdict }) => verdict === 'refused').map(({ count }) => count))).toBe(refused);
      expect(sumOf(traffic.map((one) => one.refused))).toBe(refused);
      expect(sumOf(traffic.map((one) => one.allowed))).toBe(all.length - refused);
      expect(sumOf(traffic.map((one) => one.connections))).toBe(all.length);
      expect(waiting.bytes(sandbox)).toBe(sumOf(all.map(({ bytes }) => bytes)) + all.length);
      expect(traffic.length).toBeLessThanOrEqual(1_001);
    }),
    { numRuns: 30 },
  );
});

test('a host that is longer than any name is cut, and control characters of it are not kept', () => {
  const waiting = new Waiting();
  waiting.decided(decision('x'.repeat(10_000), 'name_invalid'), 1);
  waiting.decided({ ...decision('a\0b\n', 'name_invalid'), suggestion: 'c\0' }, 2);
  waiting.moved(sandbox, 'a\0b\n', { sentBytes: 1, receivedBytes: 0, connections: 0 });
  const [long, odd] = waiting.rows();
  expect(long?.host).toHaveLength(261);
  expect(odd).toMatchObject({ host: 'a?b?', suggestion: 'c?' });
  expect(waiting.traffic()).toContainEqual(expect.objectContaining({ host: 'a?b?', sentBytes: 1, refused: 1 }));
});
