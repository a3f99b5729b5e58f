import { Agent, type ClientRequestArgs } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as beginTls } from 'node:tls';
import { NotDelivered } from '../events/sink.ts';
import { dialFirst } from '../network/dial/dial.ts';
import type { Trust } from '../network/proxy/trust.ts';
import type { Reach } from './reach.ts';

/** Servers close idle connections after five seconds and more; whoever is earlier never writes into a closed one. */
const idleMs = 4_000;
const handshakeMs = 10_000;

type Created = (error: Error | null, socket: Duplex) => void;

/** Connections of one webhook, each to an address that was decided on when it was made; kept for the next delivery. */
export class CheckedAgent extends Agent {
  readonly #reach: Pick<Reach, 'find'>;
  readonly #trust: Trust;
  readonly #url: URL;
  readonly #ended: AbortSignal;

  constructor(url: URL, parts: { reach: Pick<Reach, 'find'>; trust: Trust; ended: AbortSignal; sockets: number }) {
    super({ keepAlive: true, maxSockets: parts.sockets, maxFreeSockets: parts.sockets, timeout: idleMs });
    this.#reach = parts.reach;
    this.#trust = parts.trust;
    this.#ended = parts.ended;
    this.#url = url;
  }

  /** Node calls it where there is no connection that may be used again. */
  override createConnection(_options: ClientRequestArgs, created?: Created): undefined {
    this.#connect().then(
      (socket) => created?.(null, socket),
      (error: Error) => created?.(error, undefined as never),
    );
  }

  async #connect(): Promise<Duplex> {
    const { addresses, port, servername } = await this.#reach.find(this.#url, this.#ended);
    const dialled = await dialFirst(addresses, port, this.#ended);
    if (!dialled) throw new NotDelivered(`${this.#url.host} cannot be reached`);
    const { socket } = dialled;
    socket.allowHalfOpen = false;
    return servername === undefined ? socket : this.#secure(socket, servername);
  }

  /** TLS to the host that the certificate must be for. */
  #secure(socket: Socket, servername: string): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const tls = beginTls({
        socket,
        // An address is no name to ask for; the certificate is checked for it all the same.
        ...(isIP(servername) === 0 ? { servername } : { host: servername }),
        secureContext: this.#trust.context(),
        ALPNProtocols: ['http/1.1'],
      });
      const fail = (detail: string) => {
        clearTimeout(deadline);
        tls.destroy();
        socket.destroy();
        reject(new NotDelivered(`TLS with ${this.#url.host} failed: ${detail}`));
      };
      const deadline = setTimeout(() => fail('it took too long'), handshakeMs);
      tls.on('error', (error) => fail(error.message));
      tls.once('secureConnect', () => {
        clearTimeout(deadline);
        resolve(tls);
      });
    });
  }
}
