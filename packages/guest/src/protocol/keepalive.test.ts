import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Keepalive, redialDelay } from './keepalive.ts';
import { limits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';

test('a quiet peer is pinged once, and is dead when it stays quiet', () => {
  const keepalive = new Keepalive(0);
  expect(keepalive.check(14_999)).toEqual({ do: 'wait', at: 15_000 });
  expect(keepalive.check(15_000).do).toBe('ping');
  expect(keepalive.check(44_999)).toEqual({ do: 'wait', at: 45_000 });
  expect(keepalive.check(45_000)).toEqual({ do: 'dead' });
});

test('any frame is a sign of life, and a pong allows the next ping', () => {
  const keepalive = new Keepalive(0);
  const first = keepalive.check(15_000);
  if (first.do !== 'ping') throw new Error('no ping');
  keepalive.heard(15_001);
  keepalive.pong(first.payload);
  expect(keepalive.check(30_000)).toEqual({ do: 'wait', at: 30_001 });
  expect(keepalive.check(30_001).do).toBe('ping');
});

test('a pong that answers nothing, twice, or something else is refused', () => {
  const keepalive = new Keepalive(0);
  expect(() => keepalive.pong(Buffer.alloc(8))).toThrow(ProtocolError);
  const payload = keepalive.ping();
  expect(() => keepalive.pong(Buffer.alloc(8, 9))).toThrow(ProtocolError);
  keepalive.pong(payload);
  expect(() => keepalive.pong(payload)).toThrow(ProtocolError);
});

test('redials begin quickly, slow down, and never stop', () => {
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempt, random) => {
      const delay = redialDelay(attempt, random);
      expect(delay).toBeGreaterThanOrEqual(limits.redialMin / 2);
      expect(delay).toBeLessThanOrEqual(limits.redialMax);
    }),
  );
  expect([0, 1, 2, 5, 6, 1e9].map((n) => redialDelay(n, 0))).toEqual([50, 100, 200, 1600, 2000, 2000]);
});
