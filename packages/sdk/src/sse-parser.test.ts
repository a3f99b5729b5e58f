import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SseEvent, SseParser } from './sse-parser.ts';

const encoder = new TextEncoder();

function parse(pieces: readonly Uint8Array[], parser = new SseParser()): SseEvent[] {
  return pieces.flatMap((piece) => parser.push(piece));
}

function parseText(text: string): SseEvent[] {
  return parse([encoder.encode(text)]);
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [...new Set(at.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.slice(start, places[index] ?? bytes.length));
}

test('an event has its type, its data and its id', () => {
  expect(parseText('id: 7\nevent: caisson\ndata: {"a":1}\n\n')).toEqual([
    { type: 'caisson', data: '{"a":1}', id: '7' },
  ]);
});

test.each(['\n', '\r', '\r\n'])('lines may end with %j', (end) => {
  const text = ['data: one', 'data: two', '', 'data: three', '', ''].join(end);
  expect(parseText(text).map((event) => event.data)).toEqual(['one\ntwo', 'three']);
});

test('comments, unknown fields and blocks without data make no event', () => {
  expect(parseText(': keepalive\n\nfoo: bar\n\nevent: x\n\n')).toEqual([]);
});

test('a field without a colon is empty, and one space after the colon is not part of the value', () => {
  expect(parseText('data\n\ndata:  two\n\ndata:none\n\n').map((event) => event.data)).toEqual(['', ' two', 'none']);
});

test('a block with only an id says where to resume', () => {
  const parser = new SseParser('3');
  expect(parse([encoder.encode('id: 41\n\n')], parser)).toEqual([]);
  expect(parser.lastEventId).toBe('41');
});

test('an event that is cut off is not counted as seen', () => {
  const parser = new SseParser('3');
  expect(parse([encoder.encode('id: 4\ndata: half')], parser)).toEqual([]);
  expect(parser.lastEventId).toBe('3');
});

test('the id stays for the events after it, and an id with a NUL is ignored', () => {
  expect(parseText('id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n').map((event) => event.id)).toEqual(['1', '1']);
});

test('the server tells how long to wait before coming back', () => {
  const parser = new SseParser();
  parse([encoder.encode('retry: 1500\n\nretry: soon\n\n')], parser);
  expect(parser.retryMs).toBe(1500);
});

test('a CR at the end of a piece completes the event at once', () => {
  const parser = new SseParser();
  expect(parser.push(encoder.encode('data: now\r\r')).map((event) => event.data)).toEqual(['now']);
  expect(parser.push(encoder.encode('\ndata: next\r\n\r\n')).map((event) => event.data)).toEqual(['next']);
});

test('an event without end is refused before it fills the memory', () => {
  const parser = new SseParser();
  const piece = encoder.encode(`data: ${'x'.repeat(1024 * 1024)}\n`);
  expect(() => {
    for (let count = 0; count < 20; count += 1) parser.push(piece);
  }).toThrow(RangeError);
});

const lineText = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replace(/[\r\n\0]/g, ''));
const block = fc.record({
  id: fc.option(lineText, { nil: undefined }),
  type: fc.option(lineText, { nil: undefined }),
  data: fc.array(lineText, { maxLength: 3 }),
  comment: fc.boolean(),
  end: fc.constantFrom('\n', '\r', '\r\n'),
});

test('how the bytes are cut never changes the events', () => {
  fc.assert(
    fc.property(fc.array(block, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 30 }), (blocks, places) => {
      const text = blocks
        .map(({ id, type, data, comment, end }) =>
          [
            ...(comment ? [': é ✓ keepalive'] : []),
            ...(id === undefined ? [] : [`id: ${id}`]),
            ...(type === undefined ? [] : [`event: ${type}`]),
            ...data.map((line) => `data: ${line}`),
            '',
            '',
          ].join(end),
        )
        .join('');
      const bytes = encoder.encode(text);
      const whole = parse([bytes]);
      expect(parse(cut(bytes, places))).toEqual(whole);
      expect(parse([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
    }),
  );
});

test('what was written comes out', () => {
  fc.assert(
    fc.property(fc.array(fc.array(lineText, { minLength: 1, maxLength: 3 }), { maxLength: 5 }), (events) => {
      const text = events.map((lines) => `${lines.map((line) => `data: ${line}`).join('\n')}\n\n`).join('');
      const wellFormed = (value: string) => new TextDecoder().decode(encoder.encode(value));
      // The first character of a stream may be a byte order mark, which is not part of the text.
      expect(parseText(text).map((event) => event.data)).toEqual(events.map((lines) => wellFormed(lines.join('\n'))));
    }),
  );
});
