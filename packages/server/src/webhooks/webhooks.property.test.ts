import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxTries, retryDelayMs } from '../events/retry-delay.ts';
import { newWebhookSecret, sign } from './signature.ts';

test('a signature is that of exactly this id, time, body and secret, one for each secret', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.string({ unit: 'grapheme' }), (id, seconds, body) => {
      const secrets = [newWebhookSecret(), newWebhookSecret()];
      const signed = sign(secrets, id, seconds, body)['webhook-signature'].split(' ');
      for (const [n, secret] of secrets.entries()) {
        const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
        expect(key).toHaveLength(32);
        const wanted = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
        expect(signed[n]).toBe(`v1,${wanted}`);
      }
    }),
  );
});

test('pauses grow until a quarter of an hour, are spread, and all tries take some hours', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (tries, random) => {
      const ms = retryDelayMs(tries, random);
      expect(ms).toBeGreaterThanOrEqual(750);
      expect(ms).toBeLessThanOrEqual(1_125_000);
      expect(retryDelayMs(tries + 1, random)).toBeGreaterThanOrEqual(ms);
    }),
  );
  const all = Array.from({ length: maxTries - 1 }, (_, n) => retryDelayMs(n + 1, 0.5)).reduce((sum, ms) => sum + ms, 0);
  expect(all / 3_600_000).toBeGreaterThan(3);
  expect(all / 3_600_000).toBeLessThan(5);
});
