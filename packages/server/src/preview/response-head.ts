import { setCookieFromPort } from './cookies.ts';
import type { PreviewTarget } from './preview-address.ts';

/** A page of a sandbox is nobody's origin in the path form: there the API and all other sandboxes have the same one. */
const pathPolicy = 'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads';

/** Of one connection and not of the message, or of a whole host name, which is not the port's. */
const dropped = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'clear-site-data',
  'content-length',
]);

/** What a browser remembers about the host name: in the path form that is the server's and everybody else's. */
const droppedByPath = new Set([
  'service-worker-allowed',
  'strict-transport-security',
  'public-key-pins',
  'alt-svc',
  'nel',
  'report-to',
  'expect-ct',
  'origin-agent-cluster',
]);

export interface ResponseFacts {
  readonly target: PreviewTarget;
  /** What the port was told as `Host`; it may send clients there. */
  readonly host: string;
  /** Names and values in turn, checked by the reader. */
  readonly fields: readonly string[];
}

/** The fields of an answer as the client gets them, names and values in turn. Its length is the caller's to say. */
export function responseFields({ target, host, fields }: ResponseFacts): string[] {
  const byPath = target.prefix !== '';
  const kept: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const lower = name.toLowerCase();
    let value: string | undefined = fields[at + 1] ?? '';
    if (dropped.has(lower) || lower.startsWith('proxy-') || lower.startsWith('x-caisson-')) continue;
    if (byPath && droppedByPath.has(lower)) continue;
    if (lower === 'set-cookie') value = setCookieFromPort(value, target);
    else if (lower === 'location') value = locationFromPort(value, target, host);
    if (value !== undefined) kept.push(name, value);
  }
  if (byPath) kept.push('content-security-policy', pathPolicy);
  return kept;
}

/** Where a port sends its client: to itself by the name that it knows, which outside is another. */
export function locationFromPort(value: string, { port, prefix }: PreviewTarget, host: string): string {
  const own = [host.toLowerCase(), `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`];
  const absolute = /^(?:https?:)?\/\/([^/?#\\]*)(.*)$/is.exec(value);
  if (absolute) {
    if (!own.includes((absolute[1] ?? '').toLowerCase())) return value;
    const rest = absolute[2] ?? '';
    return `${prefix}${rest.startsWith('/') ? rest : `/${rest}`}`;
  }
  return value.startsWith('/') ? `${prefix}${value}` : value;
}
