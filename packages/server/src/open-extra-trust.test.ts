import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeCertificates } from '../../../test/network/certificates.ts';
import { openExtraTrust } from './open-extra-trust.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-trust-'));
afterAll(() => rmSync(folder, { recursive: true }));

const written = (text: string) => {
  writeFileSync(join(folder, 'ca.pem'), text);
  return join(folder, 'ca.pem');
};

test('an authority is given to each part in its form, and without one there is none', () => {
  const { authority } = makeCertificates();
  const extra = openExtraTrust(written(`# ours\n${authority}`));
  expect(extra).toMatchObject({ roots: [expect.any(String)], authority: expect.stringContaining(authority) });
  expect(extra.agent).toBeDefined();
  expect(openExtraTrust(undefined)).toEqual({ roots: [], authority: undefined, agent: undefined });
});

test.each([
  ['is not there', () => join(folder, 'nowhere'), /cannot be read/],
  ['is empty', () => written(''), /no certificate/],
  [
    'only looks like one',
    () => written('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
    /no certificate/,
  ],
])('a file that %s is told at the start', (_, file, why) => {
  expect(() => openExtraTrust(file())).toThrow(why);
});
