import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeChunks, decodeDeep } from '../../testing/decode-stream.ts';
import { sampleFrames } from '../../testing/sample-stream.ts';
import { encodeFrame, encodeHeader, encodeWindow, type Frame, readCredit } from './frame.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { frameNames, frameTypes } from './frame-types.ts';
import { limits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';

const plain = (frames: readonly Frame[]) =>
  frames.map(({ type, channel, payload }) => ({ type, channel, payload: Buffer.from(payload).toString('hex') }));

const frameArbitrary = fc.constantFrom(...frameNames).chain((type) =>
  fc.record({
    type: fc.constant(type),
    channel: frameTypes[type].scope === 'connection' ? fc.constant(0) : fc.integer({ min: 1, max: 0xffff_ffff }),
    payload: fc.uint8Array({
      minLength: frameTypes[type].minBytes,
      maxLength: Math.min(frameTypes[type].maxBytes, 80),
    }),
  }),
);

/** Runs a hostile stream and says how it went; anything but frames or a ProtocolError fails the test. */
function survive(chunks: readonly Uint8Array[]): 'frames' | 'refused' {
  try {
    for (const frame of decodeChunks(chunks)) decodeDeep(frame);
    return 'frames';
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return 'refused';
  }
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ProtocolError) return error.code;
    throw error;
  }
  return 'no error';
}

function header(length: number, type: number, flags: number, reserved: number, channel: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt8(type, 4);
  bytes.writeUInt8(flags, 5);
  bytes.writeUInt16LE(reserved, 6);
  bytes.writeUInt32LE(channel, 8);
  return bytes;
}

test('any frames, cut into any chunks, come out as they went in', () => {
  fc.assert(
    fc.property(
      fc.array(frameArbitrary, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
      (frames, cuts) => {
        const stream = Buffer.concat(frames.map(({ type, channel, payload }) => encodeFrame(type, channel, payload)));
        const chunks: Buffer[] = [];
        for (let at = 0, i = 0; at < stream.length; i += 1) {
          const step = cuts[i % cuts.length] ?? 1;
          chunks.push(stream.subarray(at, at + step));
          at += step;
        }
        expect(plain(decodeChunks(chunks))).toEqual(plain(frames));
      },
    ),
    { numRuns: 1000 },
  );
});

test('a payload that lies within one chunk is a view of it, not a copy', () => {
  const chunk = encodeFrame('data', 1, Buffer.from('abc'));
  const [frame] = decodeChunks([chunk]);
  chunk[12] = 0x58;
  expect(Buffer.from(frame?.payload ?? []).toString()).toBe('Xbc');
});

test('a header that claims 4 GiB fails at once with twelve bytes given', () => {
  const decoder = new FrameDecoder(limits.payloadMax);
  const before = process.memoryUsage().arrayBuffers;
  expect(codeOf(() => decoder.push(header(0xffff_ffff, 0x12, 0, 0, 1), () => {}))).toBe('frame_too_large');
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(limits.payloadMax);
});

test.each([
  ['an unknown frame type', header(0, 0x7f, 0, 0, 1), 'unknown_frame'],
  ['type zero', header(0, 0, 0, 0, 0), 'unknown_frame'],
  ['a flag', header(1, 0x12, 1, 0, 1), 'reserved_not_zero'],
  ['a reserved byte', header(1, 0x12, 0, 0x100, 1), 'reserved_not_zero'],
  ['data on channel 0', header(1, 0x12, 0, 0, 0), 'wrong_scope'],
  ['a ping on a channel', header(8, 0x04, 0, 0, 1), 'wrong_scope'],
  ['empty data', header(0, 0x12, 0, 0, 1), 'bad_frame_length'],
  ['a short ping', header(7, 0x04, 0, 0, 0), 'bad_frame_length'],
  ['a long window', header(5, 0x13, 0, 0, 1), 'frame_too_large'],
  ['an end with a payload', header(1, 0x14, 0, 0, 1), 'frame_too_large'],
  ['an oversize extension', header(limits.payloadMax + 1, 0x80, 0, 0, 0), 'frame_too_large'],
])('%s is refused', (_, bytes, code) => {
  expect(codeOf(() => decodeChunks([bytes]))).toBe(code);
});

test('before the handshake a stranger cannot announce more than the handshake needs', () => {
  const decoder = new FrameDecoder();
  const bytes = header(limits.handshakePayloadMax + 1, 0x12, 0, 0, 1);
  expect(codeOf(() => decoder.push(bytes, () => {}))).toBe('frame_too_large');
});

test('an unknown extension frame is skipped, also in pieces', () => {
  const stream = Buffer.concat([header(5, 0x91, 7, 9, 3), Buffer.alloc(5), encodeFrame('end', 1)]);
  for (const chunks of [[stream], [...stream].map((byte) => Buffer.from([byte]))]) {
    expect(plain(decodeChunks(chunks))).toEqual([{ type: 'end', channel: 1, payload: '' }]);
  }
});

test('frames before a fault are delivered, and nothing is after it', () => {
  const decoder = new FrameDecoder();
  const seen: string[] = [];
  const stream = Buffer.concat([encodeFrame('end', 1), header(0, 0x7f, 0, 0, 0)]);
  expect(codeOf(() => decoder.push(stream, ({ type }) => seen.push(type)))).toBe('unknown_frame');
  expect(seen).toEqual(['end']);
  expect(codeOf(() => decoder.push(encodeFrame('end', 3), ({ type }) => seen.push(type)))).toBe('truncated');
  expect(seen).toEqual(['end']);
});

test('an encoder refuses what a decoder would refuse', () => {
  expect(codeOf(() => encodeHeader('data', 1, limits.payloadMax + 1))).toBe('frame_too_large');
  expect(codeOf(() => encodeFrame('data', 0, Buffer.from('x')))).toBe('wrong_scope');
  expect(codeOf(() => encodeWindow(1, 0))).toBe('window_overflow');
  const [frame] = decodeChunks([encodeWindow(9, 77)]);
  expect(readCredit(frame?.payload ?? Buffer.alloc(4))).toBe(77);
});

test('every truncation of a valid stream gives frames or a ProtocolError', () => {
  const stream = Buffer.concat(sampleFrames.map(({ bytes }) => bytes));
  const edges = new Set([0]);
  let edge = 0;
  for (const { bytes } of sampleFrames) {
    edge += bytes.length;
    edges.add(edge);
  }
  for (let length = 0; length <= stream.length; length += 1) {
    expect(survive([stream.subarray(0, length)])).toBe(edges.has(length) ? 'frames' : 'refused');
  }
});

test('every bit flip of a valid stream gives frames or a ProtocolError', () => {
  const stream = Buffer.concat(sampleFrames.map(({ bytes }) => bytes));
  for (let bit = 0; bit < stream.length * 8; bit += 1) {
    const copy = Buffer.from(stream);
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    survive([copy]);
  }
});

test('random bytes give frames or a ProtocolError', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 }), (chunks) => {
      survive(chunks);
    }),
    { numRuns: 20_000 },
  );
});

test('random payloads behind a valid header give frames or a ProtocolError', () => {
  fc.assert(
    fc.property(fc.constantFrom(...frameNames), fc.uint8Array({ maxLength: 64 }), (type, payload) => {
      const { code, scope } = frameTypes[type];
      survive([header(payload.length, code, 0, 0, scope === 'channel' ? 1 : 0), payload]);
    }),
    { numRuns: 20_000 },
  );
});
