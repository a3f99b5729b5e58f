import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lookAtFirstBytes } from './first-bytes.ts';

const look = (text: string) => lookAtFirstBytes(Buffer.from(text, 'latin1')).kind;

test.each([
  ['GET / HTTP/1.1\r\n', 'http'],
  ['get / http/1.0\n', 'http'],
  ['\r\n\r\nPOST /a HTTP/1.1\r\n', 'http'],
  ['WEIRD\t/a  HTTP/1.1 extra\r\n', 'http'],
  ['GET / HTTP/9', 'http'],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'h2'],
  ['SSH-2.0-OpenSSH_9\r\n', 'other'],
  ['EHLO me\r\n', 'other'],
  ['*1\r\n$4\r\nPING\r\n', 'other'],
  ['\0\0\0\x08', 'other'],
  ['\x03abc', 'other'],
  ['GE', 'more'],
  ['GET /long', 'more'],
  ['\r\n', 'more'],
  ['', 'more'],
  ['x'.repeat(41), 'other'],
  [`GET /${'x'.repeat(20_000)}`, 'other'],
  ['\x16\x03', 'more'],
  ['\x16\x04\x01\x00\x05', 'tls'],
  // Before its hello an alert, or a change of ciphers; and a hello in the form of SSL 2.
  ['\x15\x03\x01\x00\x02\x01\x5a', 'tls'],
  ['\x14\x03\x03\x00\x01\x01', 'tls'],
  ['\x15', 'more'],
  ['\x15\x04', 'other'],
  ['\x80\x2e\x01\x03\x03\x00\x15', 'tls'],
  ['\x80\x2e\x01', 'more'],
  ['\x80\x2e\x02', 'other'],
  // White space that some servers skip or take for a space.
  [' GET / HTTP/1.1\r\n', 'http'],
  ['\x0b\x0cGET / HTTP/1.1\r\n', 'http'],
  ['GET\x0b/\x0bHTTP/1.1\r\n', 'http'],
  ['GET /\r HTTP/1.1\r\n', 'http'],
  ['GET /\rX', 'more'],
  ['GET /\0X', 'more'],
])('%j is the beginning of %s', (text, kind) => {
  expect(look(text)).toBe(kind);
});

test('once known it stays what it is, whatever comes after it', () => {
  const beginning = fc.oneof(
    fc.string({ maxLength: 60, unit: 'binary-ascii' }),
    fc.constantFrom(
      'GET / HTTP/1.1\r\n',
      '\r\nGET /',
      'PRI * HTTP/2.0\r\n',
      '\x16\x03\x01\x00\x05\x01\x00\x00\x01\x09',
    ),
  );
  fc.assert(
    fc.property(beginning, fc.string({ maxLength: 60, unit: 'binary-ascii' }), (first, then) => {
      const before = look(first);
      if (before !== 'more') expect(look(first + then)).toBe(before);
    }),
    { numRuns: 500 },
  );
});
