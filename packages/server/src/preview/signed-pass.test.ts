import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { PassSigner, passSecret } from './signed-pass.ts';

const signer = new PassSigner(() => Buffer.alloc(32, 1));
const subject = { sandbox: 'sbx0000000000000000000a', port: 3000, share: 'one' };
const soon = Math.floor(Date.now() / 1000) + 60;

test('a pass is good for what it was signed for, and for nothing else', () => {
  const pass = signer.sign('link', subject, soon);
  expect(signer.verify('link', subject, pass)).toBe(soon);
  expect(signer.verify('cookie', subject, pass)).toBeUndefined();
  expect(signer.verify('link', { ...subject, port: 3001 }, pass)).toBeUndefined();
  expect(signer.verify('link', { ...subject, share: 'two' }, pass)).toBeUndefined();
  expect(signer.verify('link', { ...subject, sandbox: 'sbx0000000000000000000b' }, pass)).toBeUndefined();
  expect(new PassSigner(() => Buffer.alloc(32, 2)).verify('link', subject, pass)).toBeUndefined();
});

test('a pass ends at its time', () => {
  const pass = signer.sign('link', subject, soon);
  expect(signer.verify('link', subject, pass, soon * 1000 - 1)).toBe(soon);
  expect(signer.verify('link', subject, pass, soon * 1000)).toBeUndefined();
});

test('a pass that was changed anywhere is none', () => {
  const pass = signer.sign('link', subject, soon);
  fc.assert(
    fc.property(fc.nat(pass.length - 2), fc.constantFrom('0', 'z', 'A', '-', '.'), (at, char) => {
      const changed = `${pass.slice(0, at)}${char}${pass.slice(at + 1)}`;
      expect(signer.verify('link', subject, changed)).toBe(changed === pass ? soon : undefined);
    }),
  );
});

test('whatever is given for a pass is refused without a word', () => {
  fc.assert(fc.property(fc.string(), (text) => signer.verify('cookie', subject, text) === undefined));
});

test('the secret is made once, for its owner alone, and kept', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-pass-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'preview.key');
  const made = passSecret(file)();
  expect(made).toHaveLength(32);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(passSecret(file)()).toEqual(made);
  writeFileSync(file, 'short');
  expect(() => passSecret(file)()).toThrow('is not a secret');
});
