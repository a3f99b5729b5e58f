import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makePassable } from './passable-folder.ts';

test('many who make the same folder at once get one that anybody may pass', async () => {
  const root = mkdtempSync(join(tmpdir(), 'caisson-passable-'));
  try {
    const folder = join(root, 'above', 'below');
    await Promise.all(Array.from({ length: 20 }, () => makePassable(folder)));
    for (const path of [join(root, 'above'), folder]) expect(statSync(path).mode & 0o777).toBe(0o711);
    expect([readdirSync(root), readdirSync(join(root, 'above'))]).toEqual([['above'], ['below']]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
