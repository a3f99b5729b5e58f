import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LineOutput } from './line-output.ts';

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('lines are written whole and in order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-lines-'));
  const path = join(folder, 'log');
  const fd = openSync(path, 'w');
  const output = new LineOutput(fd);
  const lines = Array.from({ length: 5_000 }, (_, n) => `line ${n} é\n`);
  for (const line of lines) output.write(line);
  await until(() => readFileSync(path, 'utf8').length === lines.join('').length);
  expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
  expect(output.dropped).toBe(0);
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

test('a full disk drops lines and nothing else', async () => {
  const fd = openSync('/dev/full', 'w');
  const output = new LineOutput(fd);
  for (let n = 0; n < 100; n += 1) output.write('x\n');
  await until(() => output.dropped === 100);
  closeSync(fd);
});

test('what waits is bounded', () => {
  const output = new LineOutput(openSync('/dev/null', 'w'));
  for (let n = 0; n < 30; n += 1) output.write('x'.repeat(100_000));
  expect(output.dropped).toBeGreaterThan(10);
});
