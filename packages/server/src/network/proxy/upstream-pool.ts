import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as beginTls } from 'node:tls';
import { dialFirst } from '../dial/dial.ts';
import type { Target } from '../rules/host.ts';
import type { Refused } from './refused.ts';
import type { Trust } from './trust.ts';

/** Servers close idle connections after five seconds and more; whoever is earlier never writes into a closed one. */
const idleMs = 4_000;
const idleMax = 32;
/** To all targets together: who asks as many names as there are must not keep a descriptor for each. */
const idleOfAllMax = 64;
const handshakeMs = 10_000;

/** A connection that was made for its target already. It is taken once. */
export interface Spare {
  socket: { readonly socket: Socket; readonly address: string } | undefined;
}

/** What a request says of the connection that it needs. */
export interface Wanted {
  readonly target: Target;
  readonly addresses: readonly string[];
  /** The name to begin TLS with; plain when absent. */
  readonly servername?: string | undefined;
  readonly spare?: Spare | undefined;
  /** Aborted when its client is gone: a host that does not answer is dialled for nobody. */
  readonly left: AbortSignal;
}

export interface PoolGate {
  readonly parts: { readonly trust: Trust };
  confirm(target: Target, address: string): Promise<Refused | undefined>;
}

interface Kept {
  readonly target: Target;
  readonly address: string;
}

type Created = (error: Error | null, socket: Duplex) => void;

/** Why there is no connection, for its client. */
export class NotReached extends Error {
  readonly refused: Refused;

  constructor(refused: Refused) {
    super(refused.why);
    this.refused = refused;
  }
}

/**
 * Connections of one sandbox to where its requests go, kept for the next request to the same target. Never shared with
 * another sandbox: who was let through by one's rules says nothing about the other's.
 */
export class UpstreamPool extends Agent {
  readonly #gate: PoolGate;
  readonly #kept = new Map<Duplex, Kept>();

  constructor(gate: PoolGate) {
    const options: AgentOptions = { keepAlive: true, maxFreeSockets: idleMax, timeout: idleMs, scheduling: 'lifo' };
    super(options);
    this.#gate = gate;
  }

  /** Node calls it to find a connection that may be used again. */
  override getName(options: unknown): string {
    const { wanted } = options as { wanted: Wanted };
    const { host, port } = wanted.target;
    return `${wanted.servername ?? ''}|${host.kind === 'name' ? host.name : host.address}|${port}`;
  }

  /** Node calls it when an answer is over, before the connection waits for the next request. */
  override keepSocketAlive(socket: Duplex): boolean {
    let idle = 0;
    for (const waiting of Object.values(this.freeSockets)) idle += waiting?.length ?? 0;
    // Its types say that nothing comes back; Node closes the connection unless it is true.
    return idle < idleOfAllMax && (super.keepSocketAlive(socket) as unknown as boolean);
  }

  /** Node calls it where there is none. */
  override createConnection(options: ClientRequestArgs, created?: Created): undefined {
    this.#connect((options as unknown as { wanted: Wanted }).wanted).then(
      (socket) => created?.(null, socket),
      (error: Error) => created?.(error, undefined as never),
    );
  }

  /** The address at the other end of one of its connections. */
  addressOf(socket: Duplex): string | undefined {
    return this.#kept.get(socket)?.address;
  }

  /** Closes those that wait for a request and may not be used any more. */
  keepOnly(isAllowed: (target: Target, address: string) => boolean): void {
    for (const socket of Object.values(this.freeSockets).flatMap((sockets) => sockets ?? [])) {
      const kept = this.#kept.get(socket);
      if (!kept || !isAllowed(kept.target, kept.address)) socket.destroy();
    }
  }

  /** Closes those to one target that wait: one of them turned out to be dead. */
  drop(wanted: Wanted): void {
    for (const socket of this.freeSockets[this.getName({ wanted })] ?? []) socket.destroy();
  }

  async #connect(wanted: Wanted): Promise<Duplex> {
    const { target } = wanted;
    const dialled = await this.#dial(wanted);
    if (!dialled) throw new NotReached({ why: 'unreachable', target, address: wanted.addresses[0] });
    const { socket, address } = dialled;
    const refused = await this.#gate.confirm(target, address);
    if (refused) {
      socket.destroy();
      throw new NotReached(refused);
    }
    // One that the server ends while it waits here must close, or the next request would be written into it.
    socket.allowHalfOpen = false;
    const ready = wanted.servername === undefined ? socket : await this.#secure(socket, wanted.servername, wanted);
    this.#kept.set(ready, { target, address });
    ready.once('close', () => this.#kept.delete(ready));
    return ready;
  }

  async #dial({ spare, addresses, target, left }: Wanted) {
    const made = spare?.socket;
    if (spare) spare.socket = undefined;
    const isFit = made && addresses.includes(made.address) && !made.socket.destroyed && !made.socket.readableEnded;
    if (isFit) return made;
    made?.socket.destroy();
    return dialFirst(addresses, target.port, left);
  }

  /** TLS to the host that the certificate must be for. */
  #secure(socket: Socket, servername: string, { target }: Wanted): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const secureContext = this.#gate.parts.trust.context();
      const tls = beginTls({ socket, servername, secureContext, ALPNProtocols: ['http/1.1'] });
      const fail = (detail: string) => {
        clearTimeout(deadline);
        tls.destroy();
        socket.destroy();
        reject(new NotReached({ why: 'unreachable', target, detail }));
      };
      const deadline = setTimeout(() => fail('Its TLS handshake took too long.'), handshakeMs);
      tls.on('error', (error) => fail(`Its TLS handshake failed: ${error.message}`));
      tls.once('secureConnect', () => {
        clearTimeout(deadline);
        resolve(tls);
      });
    });
  }
}
