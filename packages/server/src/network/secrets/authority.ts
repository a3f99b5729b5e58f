import { createPrivateKey, generateKeyPair, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CaissonError } from '@caisson/contract';
import { makeCertificate } from './certificate.ts';
import type { Vault } from './vault.ts';
import { syncFolder } from './vault-key.ts';

const newKeyPair = promisify(generateKeyPair);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Long, because a running sandbox cannot be given another one. */
const authorityMs = 3_650 * dayMs;
/** One that ends within this time is replaced: no sandbox lives longer without a start. */
const authorityRestMs = 90 * dayMs;
/** Short, because nobody revokes them; clocks inside may be an hour behind. */
const leafMs = 7 * dayMs - hourMs;
const leafRestMs = dayMs;
/** Below a wildcard there are as many hosts as somebody inside thinks of; one that was dropped is made again in a millisecond. */
const maxLeaves = 1_000;
/** The longest common name that a certificate may have; the host itself stands in the alternative name. */
const maxCommonName = 64;

export interface Leaf {
  readonly cert: string;
  readonly key: string;
}

interface Root {
  readonly certificate: string;
  readonly subject: string;
  readonly key: KeyObject;
}

/**
 * The certificate authority of this installation: it vouches for the hosts that a secret is bound to, towards sandboxes
 * that have such a secret and nobody else. It is made on first need. Its key lies sealed in the data folder; a server
 * with another key of secrets has another authority.
 */
export class Authority {
  readonly #folder: string;
  readonly #vault: Vault;
  readonly #now: () => number;
  readonly #leaves = new Map<string, Promise<Leaf & { readonly until: number }>>();
  #root: Promise<Root> | undefined;

  constructor(folder: string, vault: Vault, now: () => number = Date.now) {
    this.#folder = folder;
    this.#vault = vault;
    this.#now = now;
  }

  /** What a sandbox has to trust, as PEM. */
  async certificate(): Promise<string> {
    return (await this.#opened()).certificate;
  }

  /** A certificate for a host and its key, as PEM. */
  async leaf(host: string): Promise<Leaf> {
    const known = this.#leaves.get(host);
    if (known && (await known).until - this.#now() > leafRestMs) {
      // The newest of a map is its last: what is used stays.
      this.#leaves.delete(host);
      this.#leaves.set(host, known);
      return known;
    }
    const made = this.#makeLeaf(host);
    made.catch(() => this.#leaves.delete(host));
    this.#leaves.set(host, made);
    const [oldest] = this.#leaves.keys();
    if (this.#leaves.size > maxLeaves && oldest !== undefined) this.#leaves.delete(oldest);
    return made;
  }

  async #makeLeaf(host: string): Promise<Leaf & { readonly until: number }> {
    const root = await this.#opened();
    const { publicKey, privateKey } = await newKeyPair('ec', { namedCurve: 'P-256' });
    const until = this.#now() + leafMs;
    const cert = makeCertificate({
      subject: host.length <= maxCommonName ? host : 'Caisson',
      publicKey,
      issuer: root,
      notBefore: new Date(this.#now() - hourMs),
      notAfter: new Date(until),
      host,
    });
    return { cert, key: pemOf(privateKey), until };
  }

  #opened(): Promise<Root> {
    this.#root ??= this.#open().catch((error) => {
      this.#root = undefined;
      throw error;
    });
    return this.#root;
  }

  async #open(): Promise<Root> {
    const name = this.#vault.keyName();
    const path = join(this.#folder, `authority-${name}.json`);
    const kept = readKept(path);
    if (!kept) return this.#make(path, name);
    const key = createPrivateKey(this.#vault.open(kept.key, ['authority', kept.certificate]));
    const { subject, validTo } = new X509Certificate(kept.certificate);
    if (Date.parse(validTo) - this.#now() < authorityRestMs) return this.#make(path, name);
    return { certificate: kept.certificate, subject: subject.replace(/^CN=/, ''), key };
  }

  async #make(path: string, name: string): Promise<Root> {
    const { publicKey, privateKey } = await newKeyPair('ec', { namedCurve: 'P-256' });
    const subject = `Caisson installation ${name}`;
    const certificate = makeCertificate({
      subject,
      publicKey,
      issuer: { subject, key: privateKey },
      notBefore: new Date(this.#now() - hourMs),
      notAfter: new Date(this.#now() + authorityMs),
    });
    const key = this.#vault.seal(pemOf(privateKey), ['authority', certificate]);
    keep(path, { certificate, key });
    return { certificate, subject, key: privateKey };
  }
}

function readKept(path: string): { certificate: string; key: string } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(path, error);
  }
  try {
    const { certificate, key } = JSON.parse(text) as Record<string, unknown>;
    if (typeof certificate === 'string' && typeof key === 'string') return { certificate, key };
  } catch {
    // Told below.
  }
  throw new CaissonError('secret_unreadable', `${basename(path)} was changed since it was made`);
}

/** Whole or not at all, and on the disk before anybody trusts it. */
function keep(path: string, authority: { certificate: string; key: string }): void {
  try {
    const temporary = `${path}.new`;
    writeFileSync(temporary, `${JSON.stringify(authority)}\n`, { mode: 0o600, flush: true });
    renameSync(temporary, path);
    syncFolder(dirname(path));
  } catch (error) {
    throw unusable(path, error);
  }
}

function unusable(path: string, cause: unknown): CaissonError {
  return new CaissonError(
    'data_folder_unusable',
    `cannot use ${basename(path)}: ${(cause as NodeJS.ErrnoException).code}`,
    { cause },
  );
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
