import { setTimeout as delay } from 'node:timers/promises';
import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import { readBounded } from '../digest.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import type { RegistryCredential } from './credentials.ts';
import { mayFollow, registryAddress } from './hosts.ts';

/** A registry sends a blob on to its store, which may send it on once more. */
const maxRedirects = 5;
const maxAttempts = 4;
const maxTokenBytes = 256 * 1024;
/** Without a byte for so long, a connection is given up and tried again. */
const silenceMs = 30_000;

const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() });

/** The refusal of one request, and whether another attempt may end differently. */
class Refused extends Error {
  readonly retryAfterMs: number | undefined;
  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Asks one repository of one registry. Credentials go to the registry and to the place it names for tokens, never
 * further: a redirect to another host is followed without them.
 */
export class RegistryClient {
  readonly #base: URL;
  readonly #host: string;
  readonly #repository: string;
  readonly #credential: RegistryCredential | undefined;
  #authorization: string | undefined;

  constructor(options: { host: string; repository: string; credential: RegistryCredential | undefined }) {
    this.#host = options.host;
    this.#repository = options.repository;
    this.#credential = options.credential;
    this.#base = registryAddress(options.host);
    if (options.credential && 'token' in options.credential) this.#authorization = `Bearer ${options.credential.token}`;
  }

  /** A successful answer, with its body still to be read. `path` is below the repository. */
  async get(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    const url = new URL(`v2/${this.#repository}/${path}`, this.#base);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#authorized(url, headers, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CaissonError) throw error;
        if (attempt === maxAttempts) throw this.#unreachable(error);
        const wait = error instanceof Refused ? error.retryAfterMs : undefined;
        await pause(attempt, signal, wait);
      }
    }
  }

  async #authorized(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    const first = await this.#follow(url, headers, signal);
    if (first.status !== 401) return this.#judge(first);
    await first.body?.cancel();
    const challenge = parseChallenge(first.headers.get('www-authenticate') ?? '');
    this.#authorization = challenge && (await this.#meet(challenge, signal));
    if (this.#authorization === undefined) throw this.#denied();
    return this.#judge(await this.#follow(url, headers, signal));
  }

  async #follow(start: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    let url = start;
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const secret = url.host === this.#base.host && this.#authorization ? { authorization: this.#authorization } : {};
      const response = await ask(url, { headers: { 'accept-encoding': 'identity', ...headers, ...secret } }, signal);
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return response;
      await response.body?.cancel();
      const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (next === undefined || !mayFollow(url, next))
        throw new CaissonError('registry_failed', `the registry ${this.#host} redirects to a place that is refused`, {
          context: { to: next?.host ?? 'not an address' },
        });
      url = next;
    }
    throw new CaissonError('registry_failed', `the registry ${this.#host} redirects more than ${maxRedirects} times`);
  }

  #judge(response: Response): Response {
    const { status } = response;
    if (status >= 200 && status < 300) return response;
    void response.body?.cancel();
    if (status === 404)
      throw new CaissonError('image_not_found', `${this.#host} has no such image in ${this.#repository}`);
    if (status === 401 || status === 403) throw this.#denied();
    if (status === 429 || status >= 500) throw new Refused(`it answers ${status}`, retryAfter(response));
    throw new CaissonError('registry_failed', `the registry ${this.#host} answers ${status}`);
  }

  async #meet(challenge: Challenge, signal: AbortSignal): Promise<string | undefined> {
    if (challenge.scheme === 'basic') return basic(this.#credential);
    const realm = URL.canParse(challenge.realm) ? new URL(challenge.realm) : undefined;
    if (realm === undefined || !mayFollow(this.#base, realm))
      throw new CaissonError(
        'registry_failed',
        `the registry ${this.#host} has its tokens from a place that is refused`,
      );
    if (challenge.service) realm.searchParams.set('service', challenge.service);
    realm.searchParams.set('scope', challenge.scope ?? `repository:${this.#repository}:pull`);
    const secret = basic(this.#credential);
    const response = await ask(realm, { headers: secret ? { authorization: secret } : {} }, signal);
    if (response.status === 401 || response.status === 403) throw this.#denied();
    if (!response.ok || response.body === null) throw new Refused(`its tokens are refused with ${response.status}`);
    const body = await readBounded(response.body, maxTokenBytes, 'a token');
    const parsed = tokenSchema.safeParse(JSON.parse(body.toString('utf8')));
    const token = parsed.data?.token ?? parsed.data?.access_token;
    return token === undefined ? undefined : `Bearer ${token}`;
  }

  #denied(): CaissonError {
    const had = this.#credential === undefined ? 'without credentials' : 'with the credentials that it was given';
    return new CaissonError('registry_failed', `the registry ${this.#host} refuses ${this.#repository} ${had}`, {
      hint: 'Give credentials for this host; the name may also be misspelt, which registries answer in the same way.',
      context: { status: 401 },
    });
  }

  #unreachable(error: unknown): CaissonError {
    const cause = (error as { cause?: { message?: string } }).cause?.message;
    const why = cause ?? (error as Error).message;
    return new CaissonError('registry_failed', `the registry ${this.#host} cannot be reached: ${why}`, {
      context: { unreachable: true },
      cause: error,
    });
  }
}

/** One request whose answer must begin in time. */
async function ask(url: URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error('it does not answer')), silenceMs);
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.any([signal, silence.signal]) });
  } finally {
    clearTimeout(timer);
  }
}

function basic(credential: RegistryCredential | undefined): string | undefined {
  if (credential === undefined || 'token' in credential) return undefined;
  return `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString('base64')}`;
}

function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? Math.min(seconds, 10) * 1000 : undefined;
}

/** Twice as long after each failure; no attempt is worth more than some seconds. */
export async function pause(attempt: number, signal: AbortSignal, atLeastMs = 0): Promise<void> {
  await delay(Math.max(atLeastMs, Math.min(5_000, 100 * 2 ** attempt)), undefined, { signal });
}
