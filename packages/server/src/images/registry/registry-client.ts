import type { Agent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import { readBounded } from '../digest.ts';
import { ask, type FilePart } from './ask.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import type { RegistryCredential } from './credentials.ts';
import { mayFollow, registryAddress } from './hosts.ts';
import { Refused, refusalOf } from './refusal.ts';

/** A registry sends a blob on to its store, which may send it on once more. */
const maxRedirects = 5;
const maxAttempts = 4;
const maxTokenBytes = 256 * 1024;

const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() });

export interface RegistryRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the repository; or an address that the registry itself gave. */
  readonly at: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | FilePart | undefined;
  /** Statuses that the caller judges itself. */
  readonly accept?: readonly number[];
  /** Whoever goes on from what the registry has got tries again itself. */
  readonly attempts?: number;
}

export interface RegistryPlace {
  readonly host: string;
  readonly repository: string;
  readonly credential: RegistryCredential | undefined;
  /** For TLS: says whom to trust, where that is more than the process trusts. */
  readonly agent?: Agent | undefined;
  /** What a token is asked for: to read is the least. */
  readonly actions?: 'pull' | 'pull,push' | 'delete';
  /** Other repositories of the registry that are read for this one. */
  readonly alsoRead?: readonly string[];
}

/**
 * Asks one repository of one registry. Credentials go to the registry and to the place it names for tokens, never
 * further: a redirect to another host is followed without them.
 */
export class RegistryClient {
  readonly host: string;
  readonly repository: string;
  readonly #base: URL;
  readonly #place: RegistryPlace;
  #authorization: string | undefined;

  constructor(place: RegistryPlace) {
    this.host = place.host;
    this.repository = place.repository;
    this.#place = place;
    this.#base = registryAddress(place.host);
    if (place.credential && 'token' in place.credential) this.#authorization = `Bearer ${place.credential.token}`;
  }

  /** A successful answer, with its body still to be read. `path` is below the repository. */
  get(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    return this.send({ at: path, headers }, signal);
  }

  /** A successful answer, or one of the statuses that the caller takes. */
  async send(request: RegistryRequest, signal: AbortSignal): Promise<Response> {
    const url = typeof request.at === 'string' ? this.address(request.at) : request.at;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#authorized(url, request, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CaissonError) throw error;
        if (attempt >= (request.attempts ?? maxAttempts)) throw this.#unreachable(error);
        const wait = error instanceof Refused ? error.retryAfterMs : undefined;
        await pause(attempt, signal, wait);
      }
    }
  }

  /** Of a path below the repository, or below `/v2/` where it begins with a slash. */
  address(path: string): URL {
    return new URL(path.startsWith('/') ? `v2${path}` : `v2/${this.repository}/${path}`, this.#base);
  }

  /** An address that the registry gave, if it may be followed. */
  given(location: string | null, from: URL = this.#base): URL {
    const next = location !== null && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
    if (next !== undefined && mayFollow(from, next)) return next;
    throw new CaissonError('registry_failed', `the registry ${this.host} redirects to a place that is refused`, {
      context: { to: next?.host ?? 'not an address' },
    });
  }

  async #authorized(url: URL, request: RegistryRequest, signal: AbortSignal): Promise<Response> {
    const first = await this.#follow(url, request, signal);
    if (first.status !== 401) return this.#judge(first, request);
    await first.body?.cancel();
    const challenge = parseChallenge(first.headers.get('www-authenticate') ?? '');
    this.#authorization = challenge && (await this.#meet(challenge, signal));
    if (this.#authorization === undefined) throw this.#denied();
    return this.#judge(await this.#follow(url, request, signal), request);
  }

  async #follow(start: URL, request: RegistryRequest, signal: AbortSignal): Promise<Response> {
    const { method = 'GET', headers = {}, body } = request;
    let url = start;
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const secret = url.host === this.#base.host && this.#authorization ? { authorization: this.#authorization } : {};
      const { agent } = this.#place;
      const response = await ask(url, { method, headers: { ...headers, ...secret }, body }, signal, agent);
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return response;
      await response.body?.cancel();
      url = this.given(location, url);
    }
    throw new CaissonError('registry_failed', `the registry ${this.host} redirects more than ${maxRedirects} times`);
  }

  async #judge(response: Response, { method = 'GET', accept = [] }: RegistryRequest): Promise<Response> {
    const { status } = response;
    if ((status >= 200 && status < 300) || accept.includes(status)) return response;
    if (status === 401 || status === 403) {
      await response.body?.cancel();
      throw this.#denied();
    }
    throw await refusalOf(response, { host: this.host, repository: this.repository, method, hidden: this.#secrets() });
  }

  /** In every form in which a registry has seen them. */
  #secrets(): string[] {
    const { credential } = this.#place;
    const sent = [this.#authorization, basic(credential)].flatMap((header) => header?.split(' ')[1] ?? []);
    return credential && 'password' in credential ? [...sent, credential.password] : sent;
  }

  async #meet(challenge: Challenge, signal: AbortSignal): Promise<string | undefined> {
    const secret = basic(this.#place.credential);
    if (challenge.scheme === 'basic') return secret;
    const realm = URL.canParse(challenge.realm) ? new URL(challenge.realm) : undefined;
    if (realm === undefined || !mayFollow(this.#base, realm))
      throw new CaissonError(
        'registry_failed',
        `the registry ${this.host} has its tokens from a place that is refused`,
      );
    if (challenge.service) realm.searchParams.set('service', challenge.service);
    for (const scope of this.#scopes(challenge)) realm.searchParams.append('scope', scope);
    const headers: Record<string, string> = secret ? { authorization: secret } : {};
    const response = await ask(realm, { method: 'GET', headers }, signal, this.#place.agent);
    if (response.status === 401 || response.status === 403) throw this.#denied();
    if (!response.ok || response.body === null) throw new Refused(`its tokens are refused with ${response.status}`);
    const body = await readBounded(response.body, maxTokenBytes, 'a token');
    const token = tokenIn(body);
    return token === undefined ? undefined : `Bearer ${token}`;
  }

  /** What the registry asks for; and where it says nothing, or less than will be needed, what this client is for. */
  #scopes({ scope }: Challenge & { readonly scheme: 'bearer' }): string[] {
    const { actions = 'pull', alsoRead = [] } = this.#place;
    const own = actions === 'pull' && scope !== undefined ? [] : [`repository:${this.repository}:${actions}`];
    const others = alsoRead.map((name) => `repository:${name}:pull`);
    return [...new Set([...(scope === undefined ? [] : [scope]), ...own, ...others])];
  }

  #denied(): CaissonError {
    const had = this.#place.credential === undefined ? 'without credentials' : 'with the credentials that it was given';
    return new CaissonError('registry_failed', `the registry ${this.host} refuses ${this.repository} ${had}`, {
      hint: 'Give credentials for this host; the name may also be misspelt, which registries answer in the same way.',
      context: { status: 401 },
    });
  }

  #unreachable(error: unknown): CaissonError {
    const cause = (error as { cause?: { message?: string } }).cause?.message;
    const why = cause || (error as Error).message || 'the connection broke off';
    const isUntrusted = /certificate/i.test(why);
    return new CaissonError('registry_failed', `the registry ${this.host} cannot be reached: ${why}`, {
      ...(isUntrusted ? { hint: 'Where its authority is one of your own, start the server with `--extra-ca`.' } : {}),
      context: { unreachable: true },
      cause: error,
    });
  }
}

function tokenIn(body: Buffer): string | undefined {
  try {
    const { data } = tokenSchema.safeParse(JSON.parse(body.toString('utf8')));
    return data?.token ?? data?.access_token;
  } catch {
    // What is said in place of a token may have been one half-way: nothing of it is told.
    throw new Refused('its tokens cannot be read');
  }
}

function basic(credential: RegistryCredential | undefined): string | undefined {
  if (credential === undefined || 'token' in credential) return undefined;
  return `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString('base64')}`;
}

/** Twice as long after each failure; no attempt is worth more than some seconds. */
export async function pause(attempt: number, signal: AbortSignal, atLeastMs = 0): Promise<void> {
  await delay(Math.max(atLeastMs, Math.min(5_000, 100 * 2 ** attempt)), undefined, { signal });
}
