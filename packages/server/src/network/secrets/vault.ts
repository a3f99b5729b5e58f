import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { CaissonError } from '@caisson/contract';
import { describeKey, type KeySource, makeKey, readKey } from './vault-key.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const idBytes = 6;

/**
 * Seals values with a key that is kept apart from them.
 *
 * Laws
 * - A sealed value opens only with the key and under the very name that it was sealed under: what is moved to another
 *   place, or whose surroundings were changed, does not open.
 * - Sealed text begins with an id of its key, so that a wrong key is told from a damaged value.
 * - The key is looked for when it is needed: a server without secrets needs none.
 */
export class Vault {
  readonly #source: KeySource;
  #key: Buffer | undefined;

  constructor(source: KeySource) {
    this.#source = source;
  }

  seal(value: string, under: readonly unknown[]): string {
    const key = this.#keyToSeal();
    const nonce = randomBytes(nonceBytes);
    const id = keyId(key);
    const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
    sealing.setAAD(associated(id, under));
    const text = Buffer.concat([sealing.update(value, 'utf8'), sealing.final()]);
    return Buffer.concat([id, nonce, text, sealing.getAuthTag()]).toString('base64');
  }

  /** Throws `secret_unreadable`. */
  open(sealed: string, under: readonly unknown[]): string {
    const key = this.#keyToOpen();
    const bytes = Buffer.from(sealed, 'base64');
    const id = bytes.subarray(0, idBytes);
    if (!id.equals(keyId(key)))
      throw new CaissonError('secret_unreadable', `it was stored with another key than that of ${this.place}`);
    const nonce = bytes.subarray(idBytes, idBytes + nonceBytes);
    const text = bytes.subarray(idBytes + nonceBytes, -tagBytes);
    try {
      const opening = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
      opening.setAAD(associated(id, under));
      opening.setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([opening.update(text), opening.final()]).toString('utf8');
    } catch (error) {
      throw new CaissonError('secret_unreadable', 'it was changed since it was stored', { cause: error });
    }
  }

  /** Tells keys apart without telling anything of them. */
  keyName(): string {
    return keyId(this.#keyToSeal()).toString('hex');
  }

  /** Where the key is, in words. */
  get place(): string {
    return describeKey(this.#source);
  }

  #keyToSeal(): Buffer {
    this.#key ??= readKey(this.#source) ?? (this.#source.kind === 'own' ? makeKey(this.#source.path) : undefined);
    return this.#keyToOpen();
  }

  #keyToOpen(): Buffer {
    this.#key ??= readKey(this.#source);
    if (!this.#key) throw new CaissonError('secret_unreadable', `the key of secrets is missing: ${this.place}`);
    return this.#key;
  }
}

function keyId(key: Buffer): Buffer {
  return createHmac('sha256', key).update('caisson: the id of a key').digest().subarray(0, idBytes);
}

/** JSON, so that no two lists of names run into the same bytes. */
function associated(id: Buffer, under: readonly unknown[]): Buffer {
  return Buffer.from(JSON.stringify([1, id.toString('hex'), ...under]));
}
