import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { Vault } from './vault.ts';
import { makeKey } from './vault-key.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-vault-'));
afterAll(() => rmSync(folder, { recursive: true }));
const key = (bytes = 32) => randomBytes(bytes).toString('base64');
const vaultOf = (text: string) => new Vault({ kind: 'text', text, name: 'CAISSON_SECRETS_KEY' });
const unreadable = expect.objectContaining({ code: 'secret_unreadable' });

test('what is sealed under a name opens under that name, and looks different each time', () => {
  const vault = vaultOf(key());
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.string()), (value, under) => {
      const sealed = vault.seal(value, under);
      expect(vault.open(sealed, under)).toBe(value);
      expect(vault.seal(value, under)).not.toBe(sealed);
    }),
  );
});

test('what is sealed opens under no other name, however the names are cut', () => {
  const vault = vaultOf(key());
  const sealed = vault.seal('value', ['a', 'bc']);
  for (const under of [['ab', 'c'], ['a', 'bc', ''], ['a'], ['a', 'bd'], ['["a"', 'bc']]) {
    expect(() => vault.open(sealed, under)).toThrow(unreadable);
  }
});

test('a sealed value that was changed anywhere does not open', () => {
  const vault = vaultOf(key());
  const sealed = Buffer.from(vault.seal('value', []), 'base64');
  for (let at = 0; at < sealed.byteLength; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => vault.open(changed.toString('base64'), [])).toThrow(unreadable);
  }
  for (const text of ['', 'AAAA', sealed.subarray(0, -1).toString('base64')]) {
    expect(() => vault.open(text, [])).toThrow(unreadable);
  }
});

test('another key is told as such', () => {
  const sealed = vaultOf(key()).seal('value', []);
  expect(() => vaultOf(key()).open(sealed, [])).toThrow(/another key/);
});

test.each([
  ['too short', key(31)],
  ['too long', key(33)],
  ['no base64', 'x'.repeat(44)],
  ['empty', ''],
])('a key that is %s is refused without being shown', (_, text) => {
  const attempt = () => vaultOf(text).seal('value', []);
  expect(attempt).toThrow(unreadable);
  if (text !== '') expect(attempt).not.toThrow(text);
});

test('a key of our own is made on first use, for its user alone, and is the same for the next server', () => {
  const path = join(folder, 'own.key');
  const vault = new Vault({ kind: 'own', path });
  expect(() => vault.open('AAAA', [])).toThrow(/missing/);
  expect(existsSync(path)).toBe(false);
  const sealed = vault.seal('value', []);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(new Vault({ kind: 'own', path }).open(sealed, [])).toBe('value');
});

test('making a key again gives the one that is there', () => {
  const path = join(folder, 'twice.key');
  expect(makeKey(path)).toEqual(makeKey(path));
  expect(readFileSync(path, 'utf8')).toBe(`${makeKey(path).toString('base64')}\n`);
});

test('a key that somebody else keeps is never made, and its absence is told', () => {
  const path = join(folder, 'theirs.key');
  expect(() => new Vault({ kind: 'file', path }).seal('value', [])).toThrow(unreadable);
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, `${key()}\n`);
  const vault = new Vault({ kind: 'file', path });
  expect(vault.open(vault.seal('value', []), [])).toBe('value');
});
