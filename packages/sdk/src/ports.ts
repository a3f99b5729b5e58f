import {
  CaissonError,
  type ListedPort,
  type OpenedPort,
  type OpenPort,
  type PortLink,
  type SharedPort,
} from '@caisson/contract';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { openPortConnection, type PortConnection } from './port-connection.ts';

/** A longer wait is several: clients and proxies give up on an answer that does not begin for a few minutes. */
const longestWaitSeconds = 60;

/** Ports of one sandbox. */
export class Ports {
  readonly #connection: Connection;
  readonly #sandbox: string;

  constructor(connection: Connection, sandbox: string) {
    this.#connection = connection;
    this.#sandbox = sandbox;
  }

  /** Those that listen inside, and those that are open to the outside. */
  async list(options: CallOptions = {}): Promise<ListedPort[]> {
    return (await this.#connection.call('port.list', { params: { id: this.#sandbox }, ...options })).items;
  }

  /** Opens a port to the outside. The token of a private one is told once; `rotate` makes another. */
  open(port: number, wish: OpenPort = {}, options: CallOptions = {}): Promise<OpenedPort> {
    return this.#connection.call('port.open', { params: this.#params(port), body: wish, ...options });
  }

  /** Its token, its links and its connections end. */
  close(port: number, options: CallOptions = {}): Promise<SharedPort> {
    return this.#connection.call('port.close', { params: this.#params(port), ...options });
  }

  /** A link to an open port that ends by itself: after an hour when nothing is said. */
  link(port: number, options: CallOptions & { readonly expiresInSeconds?: number } = {}): Promise<PortLink> {
    const { expiresInSeconds, ...calls } = options;
    const body = expiresInSeconds === undefined ? {} : { expiresInSeconds };
    return this.#connection.call('port.link', { params: this.#params(port), body, ...calls });
  }

  /** Resolves when something listens on the port; `request_timeout` when nothing does after that time, a minute. */
  async wait(port: number, options: CallOptions & { readonly timeoutSeconds?: number } = {}): Promise<void> {
    const { timeoutSeconds = 60, ...calls } = options;
    const deadline = Date.now() + timeoutSeconds * 1000;
    for (;;) {
      const left = Math.max(0, (deadline - Date.now()) / 1000);
      const body = { timeoutSeconds: Math.min(left, longestWaitSeconds) };
      const { listening } = await this.#connection.call('port.wait', { params: this.#params(port), body, ...calls });
      if (listening) return;
      if (Date.now() >= deadline)
        throw new CaissonError('request_timeout', `nothing listened on port ${port} for ${timeoutSeconds} s`);
    }
  }

  /** One connection to a port inside, which need not be open to the outside. Needs WebSockets. */
  connect(port: number, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<PortConnection> {
    return openPortConnection(this.#connection, this.#params(port), options.signal);
  }

  #params(port: number): { readonly id: string; readonly port: string } {
    return { id: this.#sandbox, port: String(port) };
  }
}
