import { CaissonError, type Id } from '@caisson/contract';

/** A name under which previews are reached, and how a browser gets there when that is not as the server listens. */
export interface PreviewDomain {
  readonly host: string;
  readonly scheme: 'http' | 'https';
  /** Told only where somebody said so: a reverse proxy in front has ports of its own. */
  readonly port: number | undefined;
  readonly isExplicit: boolean;
}

/** The port of a sandbox that a request is for. */
export interface PreviewTarget {
  readonly sandbox: Id<'sandbox'>;
  readonly port: number;
  /** What the path begins with in the path form, without its last slash; empty where the port has a name of its own. */
  readonly prefix: string;
  readonly domain: PreviewDomain | undefined;
}

/** `[http://|https://]name[:port]` */
export function parsePreviewDomain(text: string): PreviewDomain {
  const match = /^(?:(https?):\/\/)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?\/?$/.exec(text.toLowerCase());
  const host = match?.[2];
  const port = match?.[3] === undefined ? undefined : Number(match[3]);
  if (host === undefined || host.length > 200 || host.includes('..') || (port ?? 1) < 1 || (port ?? 1) > 65_535) {
    throw new CaissonError('request_invalid', `${text.slice(0, 200)} is no domain for previews`, {
      hint: 'Write it as preview.example.com, or https://preview.example.com where a proxy in front does TLS.',
    });
  }
  const scheme = match?.[1] === 'https' ? 'https' : 'http';
  return { host, scheme, port, isExplicit: match?.[1] !== undefined || port !== undefined };
}

const label = /^(\d{1,5})-(sbx[a-z0-9]{20})\./;
const path = /^\/preview\/(sbx[a-z0-9]{20})\/(\d{1,5})(?=[/?]|$)/;
/** Names are asked for again and again; strange ones must not fill the memory. */
const maxNames = 1_000;

/** Tells previews from everything else: by the name in `Host`, or by the path. */
export class PreviewAddresses {
  readonly domains: readonly PreviewDomain[];
  readonly #names = new Map<string, PreviewTarget>();

  constructor(domains: readonly PreviewDomain[]) {
    this.domains = domains;
  }

  byHost(host: string | undefined): PreviewTarget | undefined {
    if (host === undefined) return undefined;
    const found = this.#names.get(host);
    if (found !== undefined) return found;
    const name = host
      .toLowerCase()
      .replace(/:\d{1,5}$/, '')
      .replace(/\.$/, '');
    const match = label.exec(name);
    const port = readPort(match?.[1]);
    if (!match || port === undefined) return undefined;
    const rest = name.slice(match[0].length);
    const domain = this.domains.find((one) => one.host === rest);
    if (!domain) return undefined;
    const target = { sandbox: match[2] as Id<'sandbox'>, port, prefix: '', domain };
    if (this.#names.size >= maxNames) this.#names.clear();
    this.#names.set(host, target);
    return target;
  }

  byPath(url: string): PreviewTarget | undefined {
    if (!url.startsWith('/preview/')) return undefined;
    const match = path.exec(url);
    const port = readPort(match?.[2]);
    if (!match || port === undefined) return undefined;
    return { sandbox: match[1] as Id<'sandbox'>, port, prefix: match[0], domain: undefined };
  }
}

function readPort(text: string | undefined): number | undefined {
  const port = Number(text);
  // One spelling for each port: what is cached and signed is by number, what is scoped in a browser is by name.
  return port >= 1 && port <= 65_535 && String(port) === text ? port : undefined;
}
