import { isIP } from 'node:net';
import { CaissonError } from '@caisson/contract';

/** Where the server listens. A unix socket is the local user's by the rights of its file. */
export type Listener =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

export function parseListen(text: string): Listener {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) {
    throw new CaissonError('request_invalid', `cannot listen on ${text}`, {
      hint: 'Write it as host:port, such as 127.0.0.1:8080 or [::1]:8080.',
    });
  }
  return { kind: 'tcp', host: match[1] ?? (match[2] || '127.0.0.1'), port };
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  // The usual ones, without a look at their form: every request is asked.
  if (name === '127.0.0.1' || name === 'localhost' || name === '::1') return true;
  return isIP(name) === 4 && name.startsWith('127.');
}
