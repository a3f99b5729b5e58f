import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTraceParent, writeTraceParent } from './trace-parent.ts';

const place = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' };

test('what is written is read again', () => {
  expect(readTraceParent(writeTraceParent(place))).toEqual(place);
});

test.each([
  undefined,
  '',
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
  '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
  '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
  '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more',
])('%s is no place in a trace', (header) => {
  expect(readTraceParent(header)).toBeUndefined();
});

test('whatever a header says, it is a place or nothing', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const found = readTraceParent(text);
      if (found) expect(writeTraceParent(found).slice(0, 52)).toBe(text.slice(0, 52));
    }),
  );
});
