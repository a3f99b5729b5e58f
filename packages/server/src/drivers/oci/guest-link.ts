import { EventEmitter, once } from 'node:events';
import { GuestClient, GuestListener } from '@caisson/guest';
import type { InstanceKey } from '../driver.ts';
import type { InstanceFolder } from './instance-folder.ts';

export interface LinkListener {
  /** Before anybody can dial. */
  readonly onClient: (client: GuestClient) => void;
  /** At the end of each connection. */
  readonly onClosed: () => void;
}

/** The server's end of the channel to one guest: listens where it dials, and keeps one client through all connections. */
export class GuestLink {
  readonly client = new GuestClient();
  readonly #listener: GuestListener;
  readonly #events = new EventEmitter();
  #isConnected = false;

  private constructor(listener: (link: GuestLink) => GuestListener) {
    this.#listener = listener(this);
  }

  static async open(folder: InstanceFolder, key: InstanceKey, tell: LinkListener): Promise<GuestLink> {
    const secrets = folder.readSecrets();
    if (!secrets) throw new Error(`the secrets of ${folder.name} are not there`);
    const link = new GuestLink(
      (self) =>
        new GuestListener({
          path: folder.socket,
          sandboxId: key.sandbox,
          incarnation: key.incarnation,
          secrets,
          storeSecrets: (next) => folder.writeSecrets(next),
          onConnection: (connection) => {
            self.client.use(connection);
            self.#isConnected = true;
            self.#events.emit('connected');
            void connection.closed.then(() => {
              self.#events.emit('closed');
              tell.onClosed();
            });
          },
        }),
    );
    tell.onClient(link.client);
    await link.#listener.listen();
    return link;
  }

  /** Resolves when the guest has dialled for the first time; rejects with the signal's reason. */
  async connected(signal: AbortSignal): Promise<void> {
    if (!this.#isConnected) await once(this.#events, 'connected', { signal });
  }

  /** Resolves at the end of the present connection, at once when there is none, or when the time is over. */
  async disconnected(withinMs: number): Promise<void> {
    if (this.#listener.connection === undefined) return;
    await once(this.#events, 'closed', { signal: AbortSignal.timeout(withinMs) }).catch(() => {});
  }

  async close(): Promise<void> {
    this.client.close();
    await this.#listener.close();
  }
}
