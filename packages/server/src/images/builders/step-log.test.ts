import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StepLog } from './step-log.ts';

function logOf(maxBytes = 1024 ** 2): { log: StepLog; told: string[] } {
  const told: string[] = [];
  return { log: new StepLog((text) => told.push(text), maxBytes), told };
}

const letter = fc.constantFrom('a', 'é', '€', '😀', '\r', '\n', '\0');

test('whatever pieces it comes in, the text is what was printed', () => {
  fc.assert(
    fc.property(fc.array(letter), fc.array(fc.nat(9)), (letters, cuts) => {
      const text = letters.join('');
      const { log, told } = logOf();
      let rest: Uint8Array = Buffer.from(text);
      for (const cut of cuts) {
        log.push('stdout', rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      log.push('stdout', rest);
      log.end();
      const whole = Buffer.from(text).toString();
      expect(told.join('')).toBe(whole === '' || whole.endsWith('\n') ? whole : `${whole}\n`);
    }),
  );
});

test('lines of the two streams are not mixed', () => {
  const { log, told } = logOf();
  log.push('stdout', Buffer.from('out '));
  log.push('stderr', Buffer.from('err\n'));
  log.push('stdout', Buffer.from('put\n'));
  expect(told).toEqual(['err\n', 'out put\n']);
});

test('a line without end comes in pieces of bounded size', () => {
  const { log, told } = logOf();
  for (let n = 0; n < 100; n += 1) log.push('stdout', Buffer.alloc(1000, 'x'));
  log.end();
  expect(told.join('').length).toBe(100_001);
  expect(Math.max(...told.map((text) => text.length))).toBeLessThanOrEqual(8 * 1024);
});

test('a flood is told of once, and its last lines are known', () => {
  const { log, told } = logOf(10_000);
  for (let n = 0; n < 10_000; n += 1) log.push('stdout', Buffer.from(`line ${n}\n`));
  log.end();
  expect(told.filter((text) => text.startsWith('…'))).toHaveLength(1);
  expect(told.join('').length).toBeLessThan(12_000);
  expect(log.lastLines).toHaveLength(30);
  expect(log.lastLines.at(-1)).toBe('line 9999');
});
