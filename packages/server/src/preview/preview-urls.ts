import { hostname } from 'node:os';
import type { Id } from '@caisson/contract';
import type { PreviewDomain } from './preview-address.ts';

export interface PreviewPlace {
  readonly url: string | null;
  readonly pathUrl: string | null;
}

/** Where a browser finds a port. Known only once the server listens. */
export class PreviewUrls {
  readonly #domain: PreviewDomain | undefined;
  #listener: { readonly host: string; readonly port: number } | undefined;

  constructor(domains: readonly PreviewDomain[]) {
    this.#domain = domains[0];
  }

  /** The address that serves previews; the first that is told stays. */
  listensAt(host: string, port: number): void {
    this.#listener ??= { host, port };
  }

  of(sandbox: Id<'sandbox'>, port: number): PreviewPlace {
    return { url: this.#named(sandbox, port), pathUrl: this.#byPath(sandbox, port) };
  }

  #named(sandbox: Id<'sandbox'>, port: number): string | null {
    const domain = this.#domain;
    if (!domain) return null;
    const outside = domain.isExplicit ? domain.port : this.#listener?.port;
    if (!domain.isExplicit && outside === undefined) return null;
    const usual = domain.scheme === 'https' ? 443 : 80;
    const suffix = outside === undefined || outside === usual ? '' : `:${outside}`;
    return `${domain.scheme}://${port}-${sandbox}.${domain.host}${suffix}/`;
  }

  #byPath(sandbox: Id<'sandbox'>, port: number): string | null {
    if (!this.#listener) return null;
    const { host } = this.#listener;
    const name = host === '0.0.0.0' || host === '::' ? hostname() : host.includes(':') ? `[${host}]` : host;
    return `http://${name}:${this.#listener.port}/preview/${sandbox}/${port}/`;
  }
}
