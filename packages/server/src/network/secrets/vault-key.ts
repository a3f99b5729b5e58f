import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** Where the key is: given as text, in a file that somebody else keeps, or in a file of ours, made on first use. */
export type KeySource =
  | { readonly kind: 'text'; readonly text: string; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'own'; readonly path: string };

const keyBytes = 32;
/** A key is 45 characters; a file that is much longer is another file. */
const maxKeyFile = 1_024;

/** In words for everybody who may ask: where it lies on the machine is the operator's business. */
export function describeKey(source: KeySource): string {
  if (source.kind === 'text') return source.name;
  return source.kind === 'own' ? `${basename(source.path)} in the data folder` : '--secrets-key-file';
}

/** The key, or undefined when it is a file of ours that nobody has needed yet. */
export function readKey(source: KeySource): Buffer | undefined {
  if (source.kind === 'text') return decodeKey(source.text, source.name);
  let text: string;
  try {
    const bytes = readFileSync(source.path);
    text = bytes.subarray(0, maxKeyFile).toString('latin1');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && source.kind === 'own') return undefined;
    throw new CaissonError('secret_unreadable', `the key of secrets cannot be read: ${describeKey(source)} (${code})`, {
      cause: error,
    });
  }
  return decodeKey(text, describeKey(source));
}

/**
 * A new key in a file of ours. It is on the disk before anything is sealed with it. Whoever is second takes the key of
 * the first.
 */
export function makeKey(path: string): Buffer {
  const temporary = `${path}.${process.pid}.new`;
  try {
    writeFileSync(temporary, `${randomBytes(keyBytes).toString('base64')}\n`, { mode: 0o600, flush: true });
    try {
      // A link, not a move: it never replaces a key.
      linkSync(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      unlinkSync(temporary);
    }
    syncFolder(dirname(path));
  } catch (error) {
    throw new CaissonError('data_folder_unusable', `cannot keep a key: ${(error as NodeJS.ErrnoException).code}`, {
      cause: error,
    });
  }
  const key = readKey({ kind: 'own', path });
  if (!key) throw new CaissonError('secret_unreadable', 'the key of secrets is gone');
  return key;
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function decodeKey(text: string, place: string): Buffer {
  const trimmed = text.trim();
  const key = Buffer.from(trimmed, 'base64');
  // Node leaves out what is no base64; only what gives the same text again was meant as it is.
  if (key.byteLength !== keyBytes || key.toString('base64') !== trimmed)
    throw new CaissonError('secret_unreadable', `${place} does not hold ${keyBytes} bytes in base64`);
  return key;
}
