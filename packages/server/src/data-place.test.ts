import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { factsFile, makeDataFolder, readFacts, socketFile } from './data-place.ts';

test('facts that cannot be read are none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-place-'));
  expect(readFacts(folder)).toBeUndefined();
  writeFileSync(factsFile(folder), '{"pid": "12"}');
  expect(readFacts(folder)).toBeUndefined();
  writeFileSync(factsFile(folder), '{"pid": 12}');
  expect(readFacts(folder)).toEqual({ pid: 12 });
  rmSync(folder, { recursive: true });
});

test('a folder that cannot be made is told and does not hang', () => {
  expect(() => makeDataFolder('/proc/caisson/data')).toThrow(expect.objectContaining({ code: 'data_folder_unusable' }));
});

test('a path that is too long for a socket is refused, not cut', () => {
  expect(socketFile(`/${'x'.repeat(94)}`)).toHaveLength(107);
  expect(() => socketFile(`/${'x'.repeat(95)}`)).toThrow(expect.objectContaining({ code: 'request_invalid' }));
});
