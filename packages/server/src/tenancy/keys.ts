import { createHash, randomBytes } from 'node:crypto';
import {
  type ActorType,
  type ApiKey,
  CaissonError,
  newId,
  type Owner,
  roles,
  type Scope,
  scopeWithin,
  systemOwner,
} from '@caisson/contract';
import type { KnownKey } from '../store/keys.ts';
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
  /** Of a principal that is not known yet. */
  readonly actor?: ActorType | undefined;
}

/** API keys: making, revoking, and telling who sent one. */
export class Keys {
  readonly #store: Store;
  readonly #cache = new Map<string, KnownKey>();
  readonly #watched = new Map<string, Set<AbortController>>();
  /** Raised by each key that is made or revoked: what was read before it is not kept. */
  #changes = 0;
  /** Undefined when it has to be read. This server is the only one on its data, so what was read stays true. */
  #configured: boolean | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  async create(request: NewKeyRequest): Promise<ApiKey & { secret: string }> {
    if (request.owner.tenant === systemOwner.tenant)
      throw new CaissonError('request_invalid', `the tenant ${request.owner.tenant} is reserved`);
    const secret = `${secretPrefix}${randomBytes(secretBytes).toString('hex')}`;
    const expiresAt = request.expiresInSeconds === undefined ? null : Date.now() + request.expiresInSeconds * 1000;
    const { tenant, principal } = request.owner;
    const known = await this.#store.tenants.principal(tenant, principal);
    if (known && scopeWithin(request.scope, known.role) !== request.scope)
      throw new CaissonError('scope_missing', `keys of ${principal} have at most the scope ${roles[known.role]}`);
    await this.#store.keys.requireRoom(request.owner.tenant);
    await this.#store.tenants.know(request.owner, request.actor);
    try {
      const key = await this.#store.keys.create({
        id: newId('key'),
        hash: hashOf(secret),
        name: request.name,
        owner: request.owner,
        scope: request.scope,
        expiresAt,
      });
      return { ...key, secret };
    } finally {
      // Also when it failed: a key may be there all the same.
      this.#changed();
    }
  }

  /** It stops working at once: this server is the only one on its data. */
  async revoke(id: string): Promise<ApiKey | undefined> {
    const key = await this.#store.keys.revoke(id);
    this.#changed();
    for (const watcher of this.#watched.get(id) ?? []) watcher.abort();
    return key;
  }

  /**
   * What tenants and principals say about keys has changed. What is open by a key ends, unless it is of another tenant:
   * whoever still may opens it again.
   */
  async changedOf(tenant: string, principal?: string): Promise<void> {
    this.#changed();
    for (const id of this.#watched.keys()) {
      const key = await this.#store.keys.get(id);
      if (key && key.owner.tenant !== tenant) continue;
      if (key && principal !== undefined && key.owner.principal !== principal) continue;
      for (const watcher of this.#watched.get(id) ?? []) watcher.abort();
    }
  }

  async authenticate(secret: string): Promise<Caller> {
    const key = await this.#find(secret);
    const now = Date.now();
    // Nobody acts for the system, whoever wrote such a key.
    if (!key || key.owner.tenant === systemOwner.tenant)
      throw new CaissonError('unauthenticated', 'the API key is not known');
    if (key.revokedAt !== null) throw new CaissonError('unauthenticated', 'the API key has been revoked');
    if (key.expiresAt !== null && Date.parse(key.expiresAt) <= now)
      throw new CaissonError('unauthenticated', 'the API key has expired');
    if (key.suspended) throw new CaissonError('unauthenticated', `the tenant ${key.owner.tenant} is suspended`);
    return { owner: key.owner, scope: scopeWithin(key.scope, key.role), key: key.id, actor: key.actor };
  }

  /** For what outlives its request: a signal that ends with the caller's key, and how to stop watching. */
  async watch(caller: Caller): Promise<{ signal: AbortSignal; stop: () => void }> {
    const ended = new AbortController();
    const { key: id } = caller;
    if (id === null) return { signal: ended.signal, stop: () => {} };
    const watchers = this.#watched.get(id) ?? new Set();
    this.#watched.set(id, watchers.add(ended));
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      clearTimeout(timer);
      watchers.delete(ended);
      if (watchers.size === 0) this.#watched.delete(id);
    };
    try {
      const key = await this.#store.keys.get(id);
      if (key?.expiresAt) timer = endAt(ended, Date.parse(key.expiresAt));
      if (!key || key.revokedAt !== null) ended.abort();
    } catch (error) {
      stop();
      throw error;
    }
    return { signal: ended.signal, stop };
  }

  /** Whether anybody made a key that still counts: from then on the network asks for one. */
  async configured(): Promise<boolean> {
    if (this.#configured !== undefined) return this.#configured;
    const before = this.#changes;
    const found = await this.#store.keys.any();
    if (this.#changes === before) this.#configured = found;
    return found;
  }

  async #find(secret: string): Promise<KnownKey | undefined> {
    // What cannot be a key costs neither a digest nor a read.
    if (secret.length > 200 || !secret.startsWith(secretPrefix)) return undefined;
    const hash = hashOf(secret);
    const cached = this.#cache.get(hash);
    if (cached) return cached;
    const before = this.#changes;
    const key = await this.#store.keys.findByHash(hash);
    if (key && this.#cache.size < maxCachedKeys && this.#changes === before) this.#cache.set(hash, key);
    return key;
  }

  #changed(): void {
    this.#changes += 1;
    this.#cache.clear();
    this.#configured = undefined;
  }
}

/** A timer holds at most 24 days; a stream that is open for longer is begun again by then. */
function endAt(ended: AbortController, time: number): NodeJS.Timeout {
  return setTimeout(() => ended.abort(), Math.min(2 ** 31 - 1, Math.max(0, time - Date.now()))).unref();
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
