import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderHostHeader } from './render-host-header.ts';

test('the C header of the host program is the one that the tables give', () => {
  const file = join(import.meta.dirname, '..', '..', 'native', 'host', 'host-protocol.h');
  if (process.env.CAISSON_WRITE_GENERATED === '1') writeFileSync(file, renderHostHeader());
  expect(readFileSync(file, 'utf8')).toBe(renderHostHeader());
});
