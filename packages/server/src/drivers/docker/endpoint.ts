import { readFileSync } from 'node:fs';
import { connect as connectPlain, isIP, isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { connect as connectSecure, type SecureContextOptions } from 'node:tls';
import { CaissonError } from '@caisson/contract';
import { connectOverSsh } from './ssh-stream.ts';

/** Where an engine is. */
export type Endpoint =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly tls?: TlsFiles | undefined }
  | { readonly kind: 'ssh'; readonly destination: string; readonly port?: number | undefined };

/** A folder with `ca.pem`, `cert.pem` and `key.pem`, as Docker's own command has it. */
export interface TlsFiles {
  readonly folder: string;
}

export interface EndpointOptions {
  /** As DOCKER_CERT_PATH: with it a `tcp` engine is spoken to in TLS, and both sides prove who they are. */
  readonly certFolder?: string | undefined;
}

const forms = '`unix:///path`, `tcp://host:port` or `ssh://user@host`';
/** Plain, and with TLS, where no port is named. */
const ports = { plain: 2375, tls: 2376 };
/** What ssh takes for a destination; nothing that it could take for an option or a command. */
const userForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;
const hostForm = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?$/;

export function parseEndpoint(text: string, options: EndpointOptions = {}): Endpoint {
  if (text.startsWith('unix://')) {
    const path = text.slice('unix://'.length);
    if (!path.startsWith('/')) throw refuse(text, 'the path of a socket must be absolute');
    return { kind: 'unix', path };
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (!url || !(isIPv6(host) || hostForm.test(host))) throw refuse(text, 'it names no host');
  if ((url.pathname !== '' && url.pathname !== '/') || url.search !== '' || url.hash !== '' || url.password !== '')
    throw refuse(text, 'there may be nothing behind the host and its port, and no password');
  const port = url.port === '' ? undefined : Number(url.port);
  if (url.protocol === 'ssh:') {
    // A name that has to be escaped is none that ssh is given, so nothing is unescaped here.
    const user = url.username;
    if (user !== '' && !userForm.test(user)) throw refuse(text, 'the name of the user is not one');
    return { kind: 'ssh', destination: user === '' ? host : `${user}@${host}`, port };
  }
  const isSecure = url.protocol === 'https:' || options.certFolder !== undefined;
  if (!['tcp:', 'http:', 'https:'].includes(url.protocol)) throw refuse(text, `\`${url.protocol}\` is not known`);
  if (isSecure && options.certFolder === undefined) throw refuse(text, 'TLS needs a folder with its certificates');
  const tls = options.certFolder === undefined ? undefined : { folder: options.certFolder };
  return { kind: 'tcp', host, port: port ?? (isSecure ? ports.tls : ports.plain), tls };
}

function refuse(text: string, why: string): CaissonError {
  return new CaissonError('request_invalid', `the engine's address \`${text.slice(0, 200)}\` is not valid: ${why}`, {
    hint: `Write ${forms}.`,
  });
}

export function endpointText(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix://${endpoint.path}`;
  if (endpoint.kind === 'tcp') return `tcp://${bracketed(endpoint.host)}:${endpoint.port}`;
  const [host = '', user] = endpoint.destination.split('@').reverse();
  const where = `${user === undefined ? '' : `${user}@`}${bracketed(host)}`;
  return `ssh://${where}${endpoint.port === undefined ? '' : `:${endpoint.port}`}`;
}

/** The host that an engine is on; undefined for the server's own. */
export function remoteHost(endpoint: Endpoint): string | undefined {
  if (endpoint.kind === 'unix') return undefined;
  const host = endpoint.kind === 'tcp' ? endpoint.host : (endpoint.destination.split('@').at(-1) ?? '');
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || name.startsWith('127.') ? undefined : name;
}

function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}

/** A new stream to the engine. `dialStdio` is the command that joins an ssh session to the engine's socket there. */
export function connectTo(endpoint: Endpoint, dialStdio: readonly string[]): Duplex {
  if (endpoint.kind === 'unix') return connectPlain(endpoint.path);
  if (endpoint.kind === 'ssh') return connectOverSsh(endpoint, dialStdio);
  const { host, port, tls } = endpoint;
  const socket = tls
    ? connectSecure({ host, port, ...readTls(tls), ...(isIP(host) === 0 ? { servername: host } : {}) })
    : connectPlain({ host, port, noDelay: true });
  // A machine that is switched off says nothing.
  socket.setKeepAlive(true, keepAliveMs);
  return socket;
}

const keepAliveMs = 30_000;

function readTls({ folder }: TlsFiles): SecureContextOptions {
  const read = (name: string) => readFileSync(join(folder, name));
  return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') };
}
