import type { Duplex } from 'node:stream';
import { CaissonError } from '@caisson/contract';
import { decodeMessage } from '../protocol/decode-message.ts';
import { encodeMessage } from '../protocol/encode-message.ts';
import { type MethodRecord, methods, type Params } from '../protocol/methods.ts';
import { ChannelDuplex } from './channel-duplex.ts';
import type { GuestClient } from './guest-client.ts';
import type { GuestConnection } from './guest-connection.ts';
import { open } from './open-channel.ts';
import { ConnectionLost } from './translate-error.ts';

export type ListeningPort = MethodRecord<'port.list'>['ports'][number];

/** One connection of a program inside to a proxy listener. The bytes are the client's own, unparsed. */
export interface ProxyClient {
  readonly kind: 'http' | 'socks';
  readonly uid: number | undefined;
  readonly stream: Duplex;
  /** The network policy refuses, and there is no answer in the client's protocol. */
  deny(): void;
}

/** Every port of both families. */
const portsMax = 2 * 65_536;

export class GuestPorts {
  /** Called for each connection to a proxy listener. Without it they are refused. */
  onProxyClient: ((client: ProxyClient) => void) | undefined;
  readonly #client: GuestClient;
  readonly #listeners = new Map<number, 'http' | 'socks'>();

  constructor(client: GuestClient) {
    this.#client = client;
  }

  /** A connection to a loopback port or a unix socket inside. It ends when the connection to the guest does. */
  async connect(
    to: { readonly port: number } | { readonly path: string },
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Duplex> {
    const connection = await this.#client.connected(options.signal);
    const timeout = options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs };
    const channel = open(connection, 'port.connect', { ...to, ...timeout }, { signal: options.signal });
    try {
      await channel.result;
    } catch (error) {
      throw error instanceof ConnectionLost ? this.#client.lost(error) : error;
    }
    return new ChannelDuplex(channel);
  }

  async list(signal?: AbortSignal): Promise<ListeningPort[]> {
    return await this.#client.onConnection('port.list', signal, async (connection) => {
      const channel = open(connection, 'port.list', {}, { signal });
      const found: ListeningPort[] = [];
      try {
        for await (const { ports } of channel.records<MethodRecord<'port.list'>>()) {
          found.push(...ports);
          if (ports.length === 0 || found.length > portsMax)
            throw new CaissonError('guest_failed', 'the guest lists without end');
        }
        await channel.result;
      } finally {
        channel.cancel(new Error('the list was left'));
      }
      return found;
    });
  }

  /** Resolves when somebody listens on the port; `request_timeout` otherwise. */
  async wait(port: number, options: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void> {
    const deadline = performance.now() + options.timeoutMs;
    await this.#client.onConnection('port.wait', options.signal, async (connection) => {
      const timeoutMs = Math.max(0, Math.round(deadline - performance.now()));
      await open(connection, 'port.wait', { port, timeoutMs }, { signal: options.signal }).result;
    });
  }

  /** Listens on a loopback port inside for programs that speak to a proxy. Stays when connections come and go. */
  async listenProxy(kind: 'http' | 'socks', port: number, signal?: AbortSignal): Promise<void> {
    await this.#client.request('proxy.listen', { kind, port }, { signal });
    this.#listeners.set(port, kind);
  }

  /** Takes the channels that the guest opens on this connection. */
  listenOn(connection: GuestConnection): void {
    const { params, result } = methods['proxy.connect'];
    connection.onOpen = (channel, payload) => {
      const { kind, uid } = decodeMessage(params, payload) as Params<'proxy.connect'>;
      const take = this.onProxyClient;
      if (take === undefined) {
        channel.cancel(new Error('nobody takes proxy connections'), 'denied');
        return;
      }
      channel.answer(encodeMessage(result, {}));
      const stream = new ChannelDuplex(channel);
      take({ kind, uid, stream, deny: () => stream.refuse('denied') });
    };
  }
}
