import { CaissonError } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ResponseReader } from './response-reader.ts';

interface Seen {
  status: number;
  fields: string[];
  body: string;
  isOver: boolean;
}

function read(pieces: readonly string[], method = 'GET', ends = false): Seen & { reader: ResponseReader } {
  const seen: Seen = { status: 0, fields: [], body: '', isOver: false };
  const reader = new ResponseReader();
  reader.expect(
    {
      head: (status, _, fields) => Object.assign(seen, { status, fields }),
      data: (bytes, isLast) => {
        seen.body += bytes.toString('latin1');
        seen.isOver ||= isLast;
      },
      end: () => {
        seen.isOver = true;
      },
    },
    method,
  );
  for (const piece of pieces) reader.push(Buffer.from(piece, 'latin1'));
  if (ends) reader.finish();
  return { ...seen, reader };
}

const answers: [string, string][] = [
  ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
  ['HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello', 'hello'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX: y\r\n\r\n', 'hello'],
  ['HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
  ['HTTP/1.1 204 No\r\n\r\n', ''],
  ['HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n', ''],
  ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', ''],
];

test.each(answers)('%j is read the same in whatever pieces it comes', (answer, body) => {
  fc.assert(
    fc.property(fc.array(fc.nat(answer.length), { maxLength: 20 }), (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), answer.length];
      const seen = read(at.slice(1).map((end, index) => answer.slice(at[index], end)));
      expect(seen).toMatchObject({ body, isOver: true });
      expect(seen.reader.isReusable).toBe(true);
    }),
  );
});

test('a body without a length ends with the connection, which is then over', () => {
  const seen = read(['HTTP/1.1 200 OK\r\n\r\nhel', 'lo'], 'GET', true);
  expect(seen).toMatchObject({ body: 'hello', isOver: true });
  expect(seen.reader.isReusable).toBe(false);
});

test('the answer to HEAD has no body, whatever its length says', () => {
  expect(read(['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'], 'HEAD')).toMatchObject({ body: '', isOver: true });
});

test.each([
  ['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', false],
  ['HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', false],
  ['HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n', true],
])('after %j the connection may carry another request: %s', (answer, isReusable) => {
  expect(read([answer]).reader.isReusable).toBe(isReusable);
});

test('how long a port keeps a connection is read', () => {
  const answer = 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=9\r\nContent-Length: 0\r\n\r\n';
  expect(read([answer]).reader.keepAliveSeconds).toBe(5);
});

test.each([
  ['both a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n'],
  ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n'],
  ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n'],
  ['another encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['a folded field', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n'],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nX : a\r\n\r\n'],
  ['a bare line feed in a field', 'HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b\r\n\r\n'],
  ['a NUL in a field', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n'],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['a change of protocol that nobody asked for', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n'],
  ['a size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n'],
  ['a chunk that is longer than it says', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n'],
  ['a second answer', 'HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'],
  ['interim answers without end', 'HTTP/1.1 102 Wait\r\n\r\n'.repeat(100)],
  ['a head without end', `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(20_000)}`],
  ['too many fields', `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(1_000)}\r\n`],
  ['a line of a chunk without end', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(5_000)}`],
])('%s is refused', (_, answer) => {
  expect(() => read([answer])).toThrow(CaissonError);
});

test('an answer that breaks off is refused', () => {
  expect(() => read(['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel'], 'GET', true)).toThrow(CaissonError);
});

test('whatever a port sends is read or refused, and nothing else', () => {
  const token = fc.constantFrom('HTTP/1.1 200 OK', '\r\n', '\n', 'Content-Length: 3', ': ', '0', 'abc', '\0', 'ff\r\n');
  fc.assert(
    fc.property(fc.array(fc.oneof(token, fc.string({ maxLength: 5 })), { maxLength: 20 }), (pieces) => {
      try {
        read(pieces, 'GET', true);
      } catch (error) {
        expect(error).toBeInstanceOf(CaissonError);
      }
    }),
  );
});
