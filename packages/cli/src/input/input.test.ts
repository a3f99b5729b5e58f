import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { shortDuration } from '../output/time.ts';
import { parseDuration, parseWholeDuration } from './duration.ts';
import { collectKeyValue, parseCount } from './key-value.ts';
import { readSpec, readSpecObject } from './read-spec.ts';
import { parseSignal } from './signal.ts';
import { readVariables } from './variables.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-input-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['90', 90],
  ['90s', 90],
  ['15m', 900],
  ['2h', 7200],
  ['1d', 86_400],
  ['1w', 604_800],
  ['1h30m', 5400],
  ['0', 0],
  ['0.5', 0.5],
])('%s is %d seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

test.each(['', 'h', '2x', '-5', '2 h', '1.5h', 'soon', '1h30'])('%j is no duration', (text) => {
  expect(() => parseDuration(text)).toThrow(InvalidArgumentError);
});

test('a time to live has whole seconds, one at least', () => {
  expect(() => parseWholeDuration('0')).toThrow(InvalidArgumentError);
  expect(() => parseWholeDuration('0.5')).toThrow(InvalidArgumentError);
});

test('a duration that we write is one that we read', () => {
  fc.assert(fc.property(fc.nat(100_000_000), (seconds) => parseDuration(shortDuration(seconds)) <= seconds));
});

test('repeated key=value pairs add up, and values may hold anything', () => {
  const labels = collectKeyValue('b=', collectKeyValue('a=x=y', undefined));
  expect(labels).toEqual({ a: 'x=y', b: '' });
  expect(Object.keys(collectKeyValue('__proto__=x', undefined))).toEqual(['__proto__']);
});

test.each(['', 'a', '=b'])('%j is no key=value', (text) => {
  expect(() => collectKeyValue(text, undefined)).toThrow(InvalidArgumentError);
});

test('a key that is given twice is refused', () => {
  expect(() => collectKeyValue('a=2', { a: '1' })).toThrow('twice');
});

test.each(['0', '-1', '1.5', 'x', ''])('%j is no count', (text) => {
  expect(() => parseCount(text)).toThrow(InvalidArgumentError);
});

const stdin = (text: string | Buffer) => ({ readStdin: async () => Buffer.from(text) });

test('a spec is read from a file or from the standard input, as YAML or JSON', async () => {
  const file = join(folder, 'spec.yaml');
  writeFileSync(file, 'repo: https://example.org/a.git\n');
  expect(await readSpec(file, stdin(''))).toEqual({ repo: 'https://example.org/a.git' });
  expect(await readSpec('-', stdin('{"repo": "x"}'))).toEqual({ repo: 'x' });
});

test.each([
  ['a list', '- a', 'spec_invalid'],
  ['broken YAML', 'a: [', 'spec_invalid'],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00]), 'spec_invalid'],
  ['too much', Buffer.alloc(1_048_577, 0x20), 'spec_invalid'],
  ['too much, cut in a character', Buffer.concat([Buffer.alloc(1_048_576, 0x20), Buffer.from([0xc3])]), 'spec_invalid'],
])('%s as a spec is refused', async (_, text, code) => {
  await expect(readSpecObject('-', stdin(text))).rejects.toMatchObject({ code });
});

test.each([['nothing-there.yaml'], ['.']])('%s is told as what cannot be read', async (name) => {
  await expect(readSpec(join(folder, name), stdin(''))).rejects.toMatchObject({
    code: 'request_invalid',
    message: expect.stringContaining(folder),
  });
});

test('a variable has a value, or takes the one it has here', () => {
  const here = { HERE: 'yes', A: 'old' };
  expect(readVariables(['A=1', 'B=x=y', 'HERE', 'NOT_SET', 'A=2'], here)).toEqual({ A: '2', B: 'x=y', HERE: 'yes' });
  expect(() => readVariables(['=x'], here)).toThrow('is no variable');
});

test('a signal is a name, with SIG or without, or a number', () => {
  expect(['SIGTERM', 'int', 'Usr1', '9'].map(parseSignal)).toEqual(['SIGTERM', 'SIGINT', 'SIGUSR1', 9]);
  for (const text of ['', '0', '65', 'TERMINATE', '__proto__']) expect(() => parseSignal(text)).toThrow('is no signal');
});
