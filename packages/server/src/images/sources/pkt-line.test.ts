import { CaissonError } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readAdvertisement, readRefs } from './advertisement.ts';
import { type Packet, PacketReader, packet, textOf } from './pkt-line.ts';

async function* inPieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const cut of [...at, bytes.length]) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
}

async function all(reader: PacketReader): Promise<string[]> {
  const found: string[] = [];
  for (let next: Packet | undefined = await reader.next(); next; next = await reader.next())
    found.push(next.kind === 'line' ? textOf(next) : next.kind);
  return found;
}

test('lines are read as they were written, however they arrive', async () => {
  const words = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !text.endsWith('\n')));
  await fc.assert(
    fc.asyncProperty(words, fc.array(fc.nat()), async (lines, cuts) => {
      const bytes = Buffer.from(`${lines.map(packet).join('')}0000`);
      expect(await all(new PacketReader(inPieces(bytes, cuts)))).toEqual([...lines, 'flush']);
    }),
    { numRuns: 30 },
  );
});

test('whatever arrives is read to an end, or refused in one way', async () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('0000', '0001', '000eversion 2\n', '0004', 'fff1'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(words), fc.array(fc.nat()), async (parts, cuts) => {
      for (const read of [all, readAdvertisement, readRefs]) {
        const reader = new PacketReader(inPieces(Buffer.from(parts.join('')), cuts));
        await Promise.resolve(read(reader)).catch((error: unknown) => expect(error).toBeInstanceOf(CaissonError));
      }
    }),
    { numRuns: 30 },
  );
});
