import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildVariant } from '../../build.mjs';

test('the decoder and the path handling stand ten minutes of the fuzzer', () => {
  const corpus = join(import.meta.dirname, '..', '..', 'native', 'fuzz', 'corpus');
  const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=0' };
  const output = execFileSync(buildVariant('fuzz'), [corpus, '600', `${Date.now()}`], { encoding: 'utf8', env });
  expect(Number(output.split(' ')[0])).toBeGreaterThan(1_000_000);
}, 900_000);
