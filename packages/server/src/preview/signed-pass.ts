import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { CaissonError } from '@caisson/contract';

const secretBytes = 32;

/** What a pass opens: one port of one sandbox, for as long as it stays open without a break. */
export interface PassSubject {
  readonly sandbox: string;
  readonly port: number;
  readonly share: string;
}

/** A link is made by the owner and handed on; a cookie is made for whoever came with a link or a token. */
export type PassKind = 'link' | 'cookie';

const form = /^1\.([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/;

/** Signs and checks passes: `1.<expiry>.<signature>`. Nothing of what it opens stands in it: the request says that. */
export class PassSigner {
  readonly #secret: () => Buffer;

  constructor(secret: () => Buffer) {
    this.#secret = secret;
  }

  sign(kind: PassKind, subject: PassSubject, expiresAtSeconds: number): string {
    const expiry = Math.trunc(expiresAtSeconds).toString(36);
    return `1.${expiry}.${this.#mac(kind, subject, expiry).toString('base64url')}`;
  }

  /** The second at which it ends, or undefined when it is none of ours, of something else, or over. */
  verify(kind: PassKind, subject: PassSubject, pass: string, nowMs: number = Date.now()): number | undefined {
    const match = form.exec(pass);
    const [, expiry = '0', given = ''] = match ?? [];
    // Computed also for what cannot be right, so that how long it takes tells nothing.
    const right = timingSafeEqual(this.#mac(kind, subject, expiry), bytesOf(given));
    const expiresAt = Number.parseInt(expiry, 36);
    return match && right && expiresAt * 1000 > nowMs ? expiresAt : undefined;
  }

  #mac(kind: PassKind, { sandbox, port, share }: PassSubject, expiry: string): Buffer {
    return createHmac('sha256', this.#secret()).update(`1\n${kind}\n${sandbox}\n${port}\n${share}\n${expiry}`).digest();
  }
}

function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === secretBytes ? bytes : Buffer.alloc(secretBytes);
}

/** The secret of this installation, made when it is first needed. Whoever removes the file ends all links and cookies. */
export function passSecret(file: string): () => Buffer {
  let secret: Buffer | undefined;
  return () => {
    secret ??= readSecret(file) ?? makeSecret(file);
    return secret;
  };
}

function readSecret(file: string): Buffer | undefined {
  let secret: Buffer;
  try {
    secret = readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CaissonError('data_folder_unusable', `cannot read ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (secret.length === secretBytes) return secret;
  throw new CaissonError('data_folder_unusable', `${file} is not a secret of ${secretBytes} bytes`, {
    hint: 'Remove it; another is made, and links that were signed with it end.',
  });
}

/** Whole or not at all: the folder is this server's alone, so nobody else makes one meanwhile. */
function makeSecret(file: string): Buffer {
  const secret = randomBytes(secretBytes);
  writeFileSync(`${file}.new`, secret, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return secret;
}
