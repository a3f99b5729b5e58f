import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Sandbox } from '@caisson/contract';
import type { PortShare } from '../store/shared-ports.ts';
import { type Caller, canSee } from '../tenancy/caller.ts';
import type { Keys } from '../tenancy/keys.ts';
import { passesIn } from './cookies.ts';
import { isForeignPage } from './foreign-page.ts';
import { GuessLimit } from './guess-limit.ts';
import type { PreviewAddresses, PreviewTarget } from './preview-address.ts';
import { queryValue } from './request-head.ts';
import { tokenHash } from './shared-ports.ts';
import type { PassSigner, PassSubject } from './signed-pass.ts';

/** What a request is let do. `enter`: it came with something in its URL, and gets a cookie in place of it. */
export type Verdict = Inside | { readonly kind: 'enter'; readonly until: number } | Refused;
export interface Inside {
  readonly kind: 'in';
  /** Whose key it came with: what lasts ends with it. */
  readonly caller?: Caller;
}
export interface Refused {
  readonly kind: 'refused' | 'wait';
}

/** Who comes with a token stays for half a day; the token itself lasts. */
const tokenSeconds = 12 * 3_600;
const maxRemembered = 4_096;

const inside: Verdict = { kind: 'in' };
const refused: Refused = { kind: 'refused' };
const wait: Refused = { kind: 'wait' };

/** For a port that is not open: it is checked against this, so that it takes as long as any other. */
const noShare: PortShare = {
  port: 0,
  share: 'none',
  visibility: 'private',
  hostHeader: 'port',
  tokenHash: tokenHash(''),
  openedAt: 0,
};

/**
 * Who may reach a port: everybody where it is public; else whoever has its token, a link, the cookie of either, or the
 * key of somebody who may see the sandbox.
 *
 * Laws
 * - What is not there and what is not allowed are told alike.
 * - A wrong guess counts, for its address and for the port. From an address with too many nothing is listened to for a
 *   while; at a port with too many every further wrong one must wait, and what is right gets in.
 */
export class Access {
  readonly #signer: PassSigner;
  readonly #keys: Keys;
  readonly #addresses: PreviewAddresses;
  /** Cookies that were checked already, with the second of their end; of a share that is over nobody asks again. */
  readonly #remembered = new Map<string, number>();
  readonly #byAddress = new GuessLimit({ burst: 60, perSecond: 1 });
  readonly #byPort = new GuessLimit({ burst: 300, perSecond: 10 });

  constructor(signer: PassSigner, keys: Keys, addresses: PreviewAddresses) {
    this.#signer = signer;
    this.#keys = keys;
    this.#addresses = addresses;
  }

  judge(
    target: PreviewTarget,
    known: { readonly sandbox: Sandbox; readonly share: PortShare } | undefined,
    request: { readonly headers: IncomingHttpHeaders; readonly url: string; readonly method: string },
    address: string,
  ): Verdict | Promise<Verdict> {
    if (known?.share.visibility === 'public') return inside;
    const { headers, url } = request;
    const share = known?.share ?? noShare;
    const subject: PassSubject = { sandbox: target.sandbox, port: target.port, share: share.share };
    const isThere = known !== undefined;
    const isForeign = isForeignPage(headers, target, this.#addresses);
    const cookie = isForeign ? undefined : headers.cookie;
    if (isThere && this.#remembers(subject, cookie) && !url.includes('aisson')) return inside;
    const place = `${target.sandbox}:${target.port}`;
    if (this.#byAddress.isOver(address)) return wait;
    const verdict = this.#withPass(subject, share, request, cookie);
    if (verdict !== undefined && isThere) return verdict;
    // After what is right: otherwise a few who guess would keep out everybody who has a token or a link.
    const guesses = headers['x-caisson-preview-token'] !== undefined || url.includes('aisson');
    if (guesses && this.#byPort.isOver(place)) return wait;
    const secret = keyIn(headers);
    if (secret === undefined || !known) return this.#miss(address, place);
    return this.#keys.authenticate(secret).then(
      (caller) => (canSee(caller, known.sandbox.owner) ? { kind: 'in', caller } : this.#miss(address, place)),
      () => this.#miss(address, place),
    );
  }

  cookieFor(target: PreviewTarget, share: PortShare, until: number): string {
    return this.#signer.sign('cookie', { sandbox: target.sandbox, port: target.port, share: share.share }, until);
  }

  #withPass(
    subject: PassSubject,
    share: PortShare,
    { headers, url, method }: { headers: IncomingHttpHeaders; url: string; method: string },
    cookie: string | undefined,
  ): Verdict | undefined {
    const now = Math.floor(Date.now() / 1000);
    // What is in the URL is taken out of it: it would stay in histories, logs and referrers.
    const mayEnter = method === 'GET' || method === 'HEAD';
    const link = queryValue(url, 'caisson-link');
    const until = link === undefined ? undefined : this.#signer.verify('link', subject, link);
    if (until !== undefined) return mayEnter ? { kind: 'enter', until } : inside;
    const token = queryValue(url, 'caisson-token');
    if (token !== undefined && isToken(token, share))
      return mayEnter ? { kind: 'enter', until: now + tokenSeconds } : inside;
    const given = headers['x-caisson-preview-token'];
    if (typeof given === 'string' && isToken(given, share)) return inside;
    for (const pass of passesIn(cookie)) {
      const end = this.#signer.verify('cookie', subject, pass);
      if (end === undefined) continue;
      this.#remember(subject, pass, end);
      return inside;
    }
    return undefined;
  }

  #remembers({ share }: PassSubject, cookie: string | undefined): boolean {
    if (cookie === undefined || this.#remembered.size === 0) return false;
    return passesIn(cookie).some((pass) => (this.#remembered.get(`${share} ${pass}`) ?? 0) * 1000 > Date.now());
  }

  #remember({ share }: PassSubject, pass: string, until: number): void {
    if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
    this.#remembered.set(`${share} ${pass}`, until);
  }

  #miss(address: string, place: string): Refused {
    this.#byAddress.count(address);
    this.#byPort.count(place);
    return refused;
  }
}

function isToken(given: string, { tokenHash: hash }: PortShare): boolean {
  const wanted = Buffer.from(hash ?? noShare.tokenHash ?? '', 'hex');
  const right = timingSafeEqual(Buffer.from(tokenHash(given.slice(0, 200)), 'hex'), wanted);
  return right && hash !== null && given !== '';
}

function keyIn(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-api-key'];
  if (typeof given === 'string' && given.startsWith('csn_')) return given;
  return /^Bearer +(csn_\S+)$/i.exec(headers.authorization ?? '')?.[1];
}
