import { Duplex, duplexPair } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrpcClient } from './client.ts';
import { frame, messagesIn } from './frames.ts';
import { type GrpcMethods, serveGrpc } from './server.ts';
import { escapeWords, GrpcError, grpcCodes, unescapeWords } from './status.ts';

const soon = () => AbortSignal.timeout(10_000);

function joined(methods: GrpcMethods): { client: GrpcClient; near: Duplex } {
  const [near, far] = duplexPair();
  serveGrpc(far, methods);
  return { client: new GrpcClient(near), near };
}

async function* inPieces(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (const cut of cuts) {
    yield bytes.subarray(at, at + cut);
    at += cut;
  }
  yield bytes.subarray(at);
}

test('messages are found however their bytes are cut', async () => {
  const message = fc.uint8Array({ maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 8 }), fc.array(fc.nat({ max: 9 })), async (messages, cuts) => {
      const bytes = Buffer.concat(messages.map((one) => frame(one)));
      const found: Buffer[] = [];
      for await (const one of messagesIn(inPieces(bytes, cuts))) found.push(Buffer.from(one));
      expect(found).toEqual(messages.map((one) => Buffer.from(one)));
    }),
  );
});

test('a message that is too long, compressed or cut short is refused', async () => {
  const read = async (hex: string) => {
    for await (const _ of messagesIn(inPieces(Buffer.from(hex, 'hex'), []))) void _;
  };
  await expect(read('00ffffffff')).rejects.toThrow('bytes');
  await expect(read('010000000161')).rejects.toThrow('compressed');
  await expect(read('000000000361')).rejects.toThrow('cut short');
});

test('words survive the way through a field', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (words) => {
      expect(escapeWords(words)).toMatch(/^[\x20-\x7e]*$/);
      expect(unescapeWords(escapeWords(words))).toBe(words);
    }),
  );
});

test('a call is answered, and a failure comes with its code and its words', async () => {
  const { client } = joined({
    '/a/Echo': async (call) => call.send(await call.message()),
    '/a/Fail': async () => {
      throw new GrpcError(grpcCodes.notFound, 'nothing of the kind: ü%');
    },
  });
  expect(await client.call('/a/Echo', Buffer.from('hello'), soon())).toEqual(Buffer.from('hello'));
  await expect(client.call('/a/Fail', Buffer.alloc(0), soon())).rejects.toMatchObject({
    code: grpcCodes.notFound,
    message: 'nothing of the kind: ü%',
  });
  await expect(client.call('/a/None', Buffer.alloc(0), soon())).rejects.toMatchObject({
    code: grpcCodes.unimplemented,
  });
  await expect(client.call('/__proto__', Buffer.alloc(0), soon())).rejects.toMatchObject({
    code: grpcCodes.unimplemented,
  });
  client.close();
});

test('an abort ends the call on both sides', async () => {
  const abort = new AbortController();
  let ended: () => void = () => {};
  const atServer = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const { client } = joined({
    '/a/Wait': async (call) => {
      abort.abort();
      await call.over();
      ended();
    },
  });
  await expect(client.call('/a/Wait', Buffer.alloc(0), abort.signal)).rejects.toBeInstanceOf(GrpcError);
  await atServer;
  client.close();
});

test('calls end with their stream, and none begins after it', async () => {
  const { client, near } = joined({ '/a/Wait': (call) => call.over() });
  const call = client.call('/a/Wait', Buffer.alloc(0), soon());
  setImmediate(() => near.destroy());
  await expect(call).rejects.toMatchObject({ code: grpcCodes.unavailable });
  await expect(client.call('/a/Wait', Buffer.alloc(0), soon())).rejects.toMatchObject({ code: grpcCodes.unavailable });
});

test('whoever is silent for too long is given up', async () => {
  const silent = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const client = new GrpcClient(silent, 40);
  await expect(client.call('/a/Any', Buffer.alloc(0), soon())).rejects.toBeInstanceOf(GrpcError);
  expect(client.failure?.message).toContain('silent');
});
