import { webSocketKeyPrefix } from '@caisson/contract';
import { cookieMark, cookiesForPort } from './cookies.ts';
import type { PreviewTarget } from './preview-address.ts';

export interface RequestFacts {
  readonly method: string;
  /** Path and query as the port gets them. */
  readonly path: string;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly target: PreviewTarget;
  /** What the port is told as `Host`. */
  readonly host: string;
  readonly remoteAddress: string;
  readonly scheme: 'http' | 'https';
  /** The host that the client asked for. */
  readonly outsideHost: string;
  /** How its body is told from what follows. */
  readonly body: 'none' | 'chunked' | { readonly length: string };
  /** The offer to speak something else is passed on. */
  readonly upgrade?: string | undefined;
}

/** Of one connection and not of the message, or said anew. */
const dropped = new Set([
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'http2-settings',
  'expect',
  'x-api-key',
  'x-real-ip',
  'forwarded',
]);

const breaking = /[\r\n\0]/;

/**
 * The head of a request as the port gets it. Everything is written anew from what was parsed, so that nobody can hide a
 * second request in the first, and nothing of the platform (keys, tokens, cookies) is in it.
 */
export function requestHead(facts: RequestFacts): string {
  const { rawHeaders, body } = facts;
  const named = connectionNames(rawHeaders);
  let head = `${facts.method} ${facts.path} HTTP/1.1\r\nhost: ${facts.host}\r\n`;
  let cookie = '';
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const lower = name.toLowerCase();
    let value = rawHeaders[at + 1] ?? '';
    if (isDropped(lower) || breaking.test(value) || named?.includes(lower)) continue;
    if (lower === 'cookie') {
      cookie += cookie === '' ? value : `; ${value}`;
      continue;
    }
    if (lower === 'authorization' && carriesKey(value)) continue;
    if (lower === 'sec-websocket-protocol') {
      value = withoutKeys(value);
      if (value === '') continue;
    }
    head += `${name}: ${value}\r\n`;
  }
  const cookies = cookie === '' ? '' : cookiesForPort(cookie, cookieMark(facts.target));
  if (cookies !== '') head += `cookie: ${cookies}\r\n`;
  if (body === 'chunked') head += 'transfer-encoding: chunked\r\n';
  else if (body !== 'none') head += `content-length: ${body.length}\r\n`;
  head += `x-forwarded-for: ${facts.remoteAddress}\r\nx-forwarded-proto: ${facts.scheme}\r\n`;
  head += `x-forwarded-host: ${facts.outsideHost}\r\n`;
  if (facts.target.prefix !== '') head += `x-forwarded-prefix: ${facts.target.prefix}\r\n`;
  if (facts.upgrade !== undefined) head += `connection: upgrade\r\nupgrade: ${facts.upgrade}\r\n`;
  return `${head}\r\n`;
}

/** Programs behind CGI and its heirs read `_` as `-`: a name in that spelling is the same name. */
function isDropped(lower: string): boolean {
  const name = lower.includes('_') ? lower.replaceAll('_', '-') : lower;
  if (dropped.has(name)) return true;
  if (name.charCodeAt(0) === 112) return name.startsWith('proxy-');
  return name.startsWith('x-') && (name.startsWith('x-caisson-') || name.startsWith('x-forwarded-'));
}

/** Fields that `Connection` says are of the connection alone. */
function connectionNames(rawHeaders: readonly string[]): string[] | undefined {
  let names: string[] | undefined;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length !== 10 || rawHeaders[at]?.toLowerCase() !== 'connection') continue;
    const value = rawHeaders[at + 1] ?? '';
    if (value === 'keep-alive' || value === 'close') continue;
    const listed = value.split(',').map((name) => name.trim().toLowerCase());
    // What the end of a message is known by cannot be waved away, and neither can who is asked for.
    names = [...(names ?? []), ...listed.filter((name) => name !== 'cookie' && name !== 'authorization')];
  }
  return names;
}

/** One of our keys, wherever in the value: it must not reach a program in a sandbox by mistake either. */
function carriesKey(value: string): boolean {
  if (value.includes('csn_')) return true;
  const basic = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(value)?.[1];
  return basic !== undefined && Buffer.from(basic, 'base64').includes('csn_');
}

function withoutKeys(value: string): string {
  if (!value.includes(webSocketKeyPrefix)) return value;
  const kept = value.split(',').map((name) => name.trim());
  return kept.filter((name) => !name.startsWith(webSocketKeyPrefix)).join(', ');
}

/** The path and query without what was meant for us. `null` where the target is none that a port may be asked. */
export function pathForPort(url: string, prefix: string): string | null {
  const rest = prefix === '' ? url : url.slice(prefix.length) || '/';
  if (rest === '*') return rest;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
  if (!rest.startsWith('/') || /[\u0000-\u0020\u007f]/.test(rest)) return null;
  const at = rest.indexOf('?');
  if (at === -1) return rest;
  const parts = rest.slice(at + 1).split('&');
  if (!parts.some(isOurs)) return rest;
  const kept = parts.filter((part) => !isOurs(part));
  return kept.length === 0 ? rest.slice(0, at) : `${rest.slice(0, at)}?${kept.join('&')}`;
}

function isOurs(part: string): boolean {
  return nameOf(part).startsWith('caisson-');
}

/** The value of one of our own parameters. */
export function queryValue(url: string, name: string): string | undefined {
  const at = url.indexOf('?');
  if (at === -1 || !url.includes('aisson')) return undefined;
  const part = url
    .slice(at + 1)
    .split('&')
    .find((one) => nameOf(one) === name);
  return part === undefined ? undefined : decoded(part.slice(part.indexOf('=') + 1)).slice(0, 200);
}

function nameOf(part: string): string {
  const at = part.indexOf('=');
  return decoded(at === -1 ? part : part.slice(0, at)).toLowerCase();
}

function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
