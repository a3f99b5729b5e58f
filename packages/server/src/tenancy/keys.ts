import { createHash, randomBytes } from 'node:crypto';
import { type ApiKey, CaissonError, newId, type Owner, type Scope } from '@caisson/contract';
import type { Store } from '../store/store.ts';
import type { Caller } from './caller.ts';

/** 24 random bytes: 192 bits, so that a plain digest is as good as a slow one and a lookup stays quick. */
const secretBytes = 24;
/** Told apart from other people's keys by eye and by secret scanners. */
const secretPrefix = 'csn_';
/** Beyond this many keys in use the memory is better spent elsewhere; a lookup costs a read of one row. */
const maxCachedKeys = 10_000;

export interface NewKeyRequest {
  readonly name: string;
  readonly owner: Owner;
  readonly scope: Scope;
  readonly expiresInSeconds?: number | undefined;
}

/** API keys: making, revoking, and telling who sent one. */
export class Keys {
  readonly #store: Store;
  readonly #cache = new Map<string, ApiKey>();
  #configured = false;

  constructor(store: Store) {
    this.#store = store;
  }

  async create(request: NewKeyRequest): Promise<ApiKey & { secret: string }> {
    const secret = `${secretPrefix}${randomBytes(secretBytes).toString('hex')}`;
    const expiresAt = request.expiresInSeconds === undefined ? null : Date.now() + request.expiresInSeconds * 1000;
    await this.#store.tenants.know(request.owner);
    const key = await this.#store.keys.create({
      id: newId('key'),
      hash: hashOf(secret),
      name: request.name,
      owner: request.owner,
      scope: request.scope,
      expiresAt,
    });
    this.#configured = true;
    return { ...key, secret };
  }

  /** It stops working at once: this server is the only one on its data. */
  async revoke(id: string): Promise<ApiKey | undefined> {
    const key = await this.#store.keys.revoke(id);
    this.#cache.clear();
    this.#configured = await this.#store.keys.any();
    return key;
  }

  async authenticate(secret: string): Promise<Caller> {
    const key = await this.#find(secret);
    const now = Date.now();
    if (!key) throw new CaissonError('unauthenticated', 'the API key is not known');
    if (key.revokedAt !== null) throw new CaissonError('unauthenticated', 'the API key has been revoked');
    if (key.expiresAt !== null && Date.parse(key.expiresAt) <= now)
      throw new CaissonError('unauthenticated', 'the API key has expired');
    return { owner: key.owner, scope: key.scope, key: key.id };
  }

  /** Whether anybody made a key that still counts: from then on the network asks for one. */
  async configured(): Promise<boolean> {
    if (!this.#configured) this.#configured = await this.#store.keys.any();
    return this.#configured;
  }

  async #find(secret: string): Promise<ApiKey | undefined> {
    // What cannot be a key costs neither a digest nor a read.
    if (secret.length > 200 || !secret.startsWith(secretPrefix)) return undefined;
    const hash = hashOf(secret);
    const cached = this.#cache.get(hash);
    if (cached) return cached;
    const key = await this.#store.keys.findByHash(hash);
    if (key && this.#cache.size < maxCachedKeys) this.#cache.set(hash, key);
    return key;
  }
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
