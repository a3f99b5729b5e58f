import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { keepInstallation, keptInstallation } from './installation.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-installation-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('it is made once, is its user’s alone, and comes back as it was', () => {
  const file = join(folder, 'one.json');
  expect(keptInstallation(file)).toBeUndefined();
  const made = keepInstallation(file, 'abc', undefined);
  expect(statSync(file).mode & 0o077).toBe(0);
  expect(keptInstallation(file)).toEqual(made);
  const text = readFileSync(file, 'utf8');
  expect(keepInstallation(file, 'abc', made)).toBe(made);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('what the database says counts, and the secret stays', () => {
  const file = join(folder, 'two.json');
  const made = keepInstallation(file, 'abc', undefined);
  const next = keepInstallation(file, 'def', made);
  expect(next).toEqual({ id: 'def', secret: made.secret });
  expect(keptInstallation(file)).toEqual(next);
});

test.each(['', '{', '{}', '{"id":"../x","secret":"00"}'])('a file that says %j is refused, with what to do', (text) => {
  const file = join(folder, 'bad.json');
  writeFileSync(file, text);
  expect(() => keptInstallation(file)).toThrow(expect.objectContaining({ code: 'data_folder_unusable' }));
});
