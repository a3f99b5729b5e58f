import { expect, test } from 'vitest';
import { byteRange } from './byte-range.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['bytes=-', undefined],
  ['bytes=a-b', undefined],
  ['bytes=0-0', { first: 0, length: 1 }],
  ['bytes=0-', { first: 0, length: 100 }],
  ['bytes= 10 - 19 ', { first: 10, length: 10 }],
  ['bytes=99-', { first: 99, length: 1 }],
  ['bytes=-1', { first: 99, length: 1 }],
  ['bytes=0-99999999999999999999', undefined],
])('%j of a hundred bytes is %j', (header, range) => {
  expect(byteRange(header, 100)).toEqual(range);
});

test.each(['bytes=100-', 'bytes=100-200', 'bytes=-0'])('%s lies outside of a hundred bytes', (header) => {
  expect(() => byteRange(header, 100)).toThrowError(expect.objectContaining({ code: 'range_invalid' }));
});
