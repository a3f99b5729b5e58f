import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type Id, type NetworkRules, newId } from '@caisson/contract';
import type { GuestClient, ProxyClient } from '@caisson/guest';
import type { EgressDecision, EgressMoved, EgressSecrets } from '../../packages/server/src/network/egress.ts';
import { EgressGates } from '../../packages/server/src/network/proxy/egress-gates.ts';
import { ClosedAddresses } from '../../packages/server/src/network/rules/closed-addresses.ts';

export const owner = { tenant: 'acme', project: 'web', principal: 'ada' };

export interface EgressWorldOptions {
  readonly rules?: Partial<NetworkRules>;
  /** Names and their addresses. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  /** In place of `names`. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** What of the closed ranges is open; loopback when absent. */
  readonly open?: readonly string[];
  readonly secrets?: EgressSecrets;
  readonly extraRoots?: readonly string[];
  readonly total?: number;
}

/** A connection as a guest carries it: a stream without a descriptor. Destroying it resets the client's. */
class Carried extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on('data', (piece) => {
      if (!this.push(piece)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => {
      if (!socket.readableEnded || !socket.writableFinished) this.destroy();
    });
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(piece: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(piece, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#socket.writableFinished && this.#socket.readableEnded) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
    done(error);
  }
}

/** The gates of a server with one sandbox, whose guest is a pair of sockets on this machine. */
export class EgressWorld {
  readonly sandbox: Id<'sandbox'> = newId('sandbox');
  readonly decisions: EgressDecision[] = [];
  readonly moved = new Map<string, EgressMoved>();
  /** Every name that was looked up. */
  readonly asked: string[] = [];
  readonly gates: EgressGates;
  readonly names: Record<string, readonly string[]>;
  rules: NetworkRules | undefined;
  httpPort = 0;
  socksPort = 0;
  readonly #guest = { ports: {} } as { ports: { onProxyClient?: (client: ProxyClient) => void } };
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(options: EgressWorldOptions = {}) {
    this.rules = { mode: 'open', allow: [], deny: [], limits: {}, secrets: [], ...options.rules };
    this.names = { ...options.names };
    this.gates = new EgressGates({
      subjects: {
        find: async (sandbox) => (this.rules ? { sandbox, owner, rules: this.rules } : undefined),
      },
      journal: {
        decided: (decision) => this.decisions.push(decision),
        moved: (_, host, one) => {
          const before = this.moved.get(host) ?? { sentBytes: 0, receivedBytes: 0, connections: 0 };
          this.moved.set(host, {
            sentBytes: before.sentBytes + one.sentBytes,
            receivedBytes: before.receivedBytes + one.receivedBytes,
            connections: before.connections + one.connections,
          });
        },
        total: async () => options.total ?? 0,
      },
      secrets: options.secrets,
      resolver: {
        resolve: async (name) => {
          this.asked.push(name);
          return options.resolve?.(name) ?? this.names[name] ?? [];
        },
      },
      closed: new ClosedAddresses(options.open ?? ['127.0.0.0/8'], () => []),
      extraRoots: options.extraRoots ?? [],
      log: {
        warn: (context, message) => {
          if (process.env.TEST_LOG) console.warn(message, context);
        },
      },
    });
    this.gates.attach(this.sandbox, this.#guest as unknown as GuestClient);
  }

  static async open(options: EgressWorldOptions = {}): Promise<EgressWorld> {
    const world = new EgressWorld(options);
    world.httpPort = await world.#listen('http');
    world.socksPort = await world.#listen('socks');
    return world;
  }

  /** The last decision, once there are so many. */
  decision(index = -1): EgressDecision | undefined {
    return this.decisions.at(index);
  }

  async change(rules: Partial<NetworkRules> | undefined): Promise<void> {
    this.rules = rules && this.rules ? { ...this.rules, ...rules } : undefined;
    await this.gates.rulesChanged(this.sandbox);
  }

  /** As `change`, with another owner. */
  async handOver(rules: Partial<NetworkRules>): Promise<void> {
    this.rules = this.rules && { ...this.rules, ...rules };
    await this.gates.handedOver(this.sandbox);
  }

  async close(): Promise<void> {
    await this.gates.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((closed) => server.close(closed))));
  }

  async #listen(kind: 'http' | 'socks'): Promise<number> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      const stream = new Carried(socket);
      this.#guest.ports.onProxyClient?.({ kind, uid: 1000, stream, deny: () => stream.destroy() });
    });
    this.#servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }
}
