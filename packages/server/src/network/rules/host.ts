import { isIP } from 'node:net';

export type Host =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string };

export interface Target {
  readonly host: Host;
  readonly port: number;
}

/** One meaning, one spelling; undefined for what no careful program would send. */
export function readHost(text: string): Host | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (bare === '' || bare.length > 254 || /[\s%@/\\#?\0]/.test(bare)) return undefined;
  try {
    const { hostname } = new URL(bare.includes(':') ? `http://[${bare}]/` : `http://${bare}/`);
    const name = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    if (name === 'localhost' || name.endsWith('.localhost')) return { kind: 'address', address: '127.0.0.1' };
    if (isIP(name) !== 0) return { kind: 'address', address: unmapped(name) };
    return name.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) ? { kind: 'name', name } : undefined;
  } catch {
    return undefined;
  }
}

function unmapped(address: string): string {
  const found = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(address);
  if (!found) return address;
  const [high, low] = [Number.parseInt(found[1] ?? '', 16), Number.parseInt(found[2] ?? '', 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

export function hostText(host: Host): string {
  return host.kind === 'name' ? host.name : host.address;
}

/** `host:port`, `[v6]:port`, `host` (with defaultPort); undefined when malformed. */
export function readTarget(text: string, defaultPort?: number): Target | undefined {
  const found = /^(\[[^\]]*\]|[^:]*)(?::([0-9]{1,5}))?$/.exec(text);
  const host = found?.[1] === undefined ? undefined : readHost(found[1]);
  const port = found?.[2] === undefined ? defaultPort : Number(found[2]);
  if (host === undefined || port === undefined || port < 1 || port > 65_535) return undefined;
  return { host, port };
}
