import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frameHeader, OutputFrameReader, type OutputKind, outputKinds } from './output-frame.ts';

const kinds = Object.keys(outputKinds) as OutputKind[];
const encode = (frames: readonly (readonly [OutputKind, Uint8Array])[]) =>
  Buffer.concat(frames.flatMap(([kind, bytes]) => [frameHeader(kind, bytes.byteLength), bytes]));

test('how the bytes are cut into pieces never changes what comes out', () => {
  const frame = fc.tuple(fc.constantFrom(...kinds), fc.uint8Array({ maxLength: 40 }));
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 9 })), (frames, cuts) => {
      const reader = new OutputFrameReader();
      const bytes = encode(frames);
      const found: Record<string, number[][]> = {};
      let at = 0;
      for (let n = 0; at < bytes.length; n += 1) {
        const size = cuts[n % Math.max(1, cuts.length)] ?? 7;
        for (const { kind, bytes: part } of reader.push(bytes.subarray(at, at + size))) {
          found[kind] ??= [];
          found[kind].push([...part]);
        }
        at += size;
      }
      for (const kind of kinds) {
        const sent = frames.filter(([name]) => name === kind).map(([, part]) => [...part]);
        const isStream = kind === 'stdout' || kind === 'stderr';
        // Bytes are passed on as they come; what is text comes whole.
        if (isStream) expect((found[kind] ?? []).flat()).toEqual(sent.flat());
        else expect(found[kind] ?? []).toEqual(sent);
      }
    }),
  );
});

test('a frame of an unknown kind, or without end, is refused', () => {
  expect(() => [...new OutputFrameReader().push(new Uint8Array([77, 0, 0, 0, 0]))]).toThrow('unknown kind');
  expect(() => [...new OutputFrameReader().push(new Uint8Array([1, 255, 255, 255, 255]))]).toThrow('too long');
});
