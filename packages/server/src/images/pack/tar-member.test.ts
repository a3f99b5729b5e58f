import { mkdtempSync, openSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TarTree } from '../local/tar-tree.ts';
import { archiveEnd, memberHeader, memberSize, paddingOf } from './tar-member.ts';

test('a member larger than a plain header can say is read with its size, and so is what follows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-member-'));
  try {
    const file = join(folder, 'archive.tar');
    const large = 9 * 1024 ** 3 + 5;
    writeFileSync(file, memberHeader('large', large));
    truncateSync(file, memberSize(large));
    const small = Buffer.concat([memberHeader('small', 3), Buffer.from('abc'), paddingOf(3), archiveEnd]);
    writeSync(openSync(file, 'r+'), small, 0, small.length, memberSize(large));
    const tree = await TarTree.open(file);
    expect(await tree.has('large')).toBe(true);
    const chunks: Uint8Array[] = [];
    for await (const chunk of tree.read('small')) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('abc');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
