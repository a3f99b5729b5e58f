import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ExecStream, joinPieces } from './exec-stream.ts';

/** The other end of a stream to an engine, in memory. */
function wire() {
  const written: Buffer[] = [];
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      setImmediate(done);
    },
  });
  return { stream, written };
}

function piece(kind: number, content: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = kind;
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

const pieces = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 })), { maxLength: 20 });

test('its output is read in order however it is cut, and what it says beside is kept apart', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.array(fc.nat(30), { minLength: 1 }), async (sent, cuts) => {
      const { stream } = wire();
      const exec = new ExecStream(stream);
      const all = Buffer.concat(sent.map(([kind, content]) => piece(kind, Buffer.from(content))));
      for (let at = 0, n = 0; at < all.length; n += 1) {
        const size = 1 + (cuts[n % cuts.length] ?? 0);
        stream.push(all.subarray(at, at + size));
        at += size;
      }
      stream.push(null);
      const read: Buffer[] = [];
      for await (const chunk of exec) read.push(chunk as Buffer);
      const expected = sent.filter(([kind]) => kind === 1).map(([, content]) => Buffer.from(content));
      expect(Buffer.concat(read)).toEqual(Buffer.concat(expected));
      expect(joinPieces(all)).toEqual(Buffer.concat(sent.map(([, content]) => Buffer.from(content))));
    }),
    { numRuns: 50 },
  );
});

test('what is written goes below in order, and the end of it too', async () => {
  const { stream, written } = wire();
  const exec = new ExecStream(stream);
  const finished = new Promise((resolve) => stream.on('finish', resolve));
  for (let n = 0; n < 200; n += 1) exec.write(Buffer.alloc(1_000, n));
  exec.end();
  await finished;
  expect(Buffer.concat(written).length).toBe(200_000);
  expect(Buffer.concat(written)[199_999]).toBe(199);
});

test('a piece of an unknown kind ends the stream, and nothing is thrown', async () => {
  const { stream } = wire();
  const exec = new ExecStream(stream);
  const failed = new Promise<Error>((resolve) => exec.on('error', resolve));
  exec.resume();
  stream.push(piece(9, Buffer.from('x')));
  expect((await failed).message).toMatch(/kind 9/);
  expect(stream.destroyed).toBe(true);
});

test('a reader that is slow holds the engine back', async () => {
  const { stream } = wire();
  const exec = new ExecStream(stream);
  for (let n = 0; n < 100; n += 1) stream.push(piece(1, Buffer.alloc(10_000)));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(exec.readableLength).toBeLessThan(200_000);
  expect(stream.isPaused()).toBe(true);
});
