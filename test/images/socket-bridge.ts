import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** A socket before another one, which can be cut or fall silent as the other may. */
export class SocketBridge {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Duplex]>();
  #carried = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** `reach` gives the far end for one that came. */
  static async open(path: string, reach: () => Promise<Duplex> | Duplex): Promise<SocketBridge> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
    const bridge = new SocketBridge(server);
    server.on('connection', async (near) => {
      near.on('error', () => {});
      const far = await reach();
      far.on('error', () => near.destroy());
      const pair = [near, far] as const;
      bridge.#pairs.add(pair);
      near.on('data', ({ length }) => {
        bridge.#carried += length;
      });
      near.on('close', () => far.destroy());
      far.on('close', () => {
        near.destroy();
        bridge.#pairs.delete(pair);
      });
      near.pipe(far).pipe(near);
      near.resume();
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    return bridge;
  }

  /** How many bytes went to the far end so far. */
  get carried(): number {
    return this.#carried;
  }

  /** Everything that is open now says nothing any more. */
  stall(): void {
    for (const [near, far] of this.#pairs) {
      near.unpipe(far);
      far.unpipe(near);
    }
  }

  cut(): void {
    for (const [near] of this.#pairs) near.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

export function toSocket(address: string): () => Duplex {
  return () => connect({ path: address.replace('unix://', ''), allowHalfOpen: true });
}
