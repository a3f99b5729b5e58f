import { randomBytes } from 'node:crypto';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { decideHello, type Secrets } from '../protocol/handshake.ts';
import { limits } from '../protocol/limits.ts';
import type { Hello } from '../protocol/messages.ts';
import { acceptGuest } from './accept-guest.ts';
import type { GuestConnection } from './guest-connection.ts';

export interface GuestListenerOptions {
  /** Unix socket in a folder that belongs to this one sandbox. */
  readonly path: string;
  readonly sandboxId: string;
  readonly incarnation: number;
  /** The pair that is stored for the sandbox; see PROTOCOL.md, "Identity". */
  readonly secrets: Secrets;
  /** Stores a new pair durably before the welcome is sent. */
  readonly storeSecrets: (secrets: Secrets) => Promise<void> | void;
  readonly onConnection: (connection: GuestConnection) => void;
  /** What a dialler did wrong, for the log. */
  readonly onRefused?: ((why: string) => void) | undefined;
  /** Receive window of each channel. */
  readonly initialWindow?: number | undefined;
}

/**
 * Dialers in the handshake at once. More than one guest never dials; the rest is somebody inside who plays. The one that
 * has been silent longest makes room: a guest speaks at once, so those who wait cannot keep it out.
 */
const handshakesMax = 32;

/**
 * Listens for the guest of one sandbox. Node cannot ask a unix socket who is at its other end (SO_PEERCRED), so the guest
 * proves itself with the one-time secret, whatever the runtime; the folder's permissions keep other sandboxes out.
 */
export class GuestListener {
  readonly #options: GuestListenerOptions;
  readonly #server: Server;
  /** Diallers in the handshake, oldest first; true once they have said hello. */
  readonly #handshakes = new Map<Socket, boolean>();
  #secrets: Secrets;
  #current: GuestConnection | undefined;
  #challenged: GuestConnection | undefined;
  #isClosing = false;

  constructor(options: GuestListenerOptions) {
    this.#options = options;
    this.#secrets = options.secrets;
    this.#server = createServer((socket) => void this.#onSocket(socket));
  }

  get connection(): GuestConnection | undefined {
    return this.#current;
  }

  async listen(): Promise<void> {
    const { path } = this.#options;
    // A socket of a server that crashed is in the way and answers nobody.
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, () => resolve());
    });
    // The guest has a uid of its own range; who may reach the socket is decided by its folder.
    await chmod(path, 0o666);
  }

  /** Says goaway to the guest and stops. Processes inside go on; a listener of the same sandbox finds them again. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const socket of this.#handshakes.keys()) socket.destroy();
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#current?.close('shutdown');
    await stopped;
  }

  async #onSocket(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    if (this.#handshakes.size >= handshakesMax) this.#evict();
    if (this.#handshakes.size >= handshakesMax) {
      socket.destroy();
      return;
    }
    this.#handshakes.set(socket, false);
    try {
      const connection = await acceptGuest(socket, (hello) => {
        this.#handshakes.set(socket, true);
        return this.#judge(hello);
      });
      if (connection !== undefined) this.#take(connection);
    } catch (error) {
      socket.destroy();
      this.#options.onRefused?.(error instanceof Error ? error.message : String(error));
    } finally {
      this.#handshakes.delete(socket);
    }
  }

  /** A guest says hello at once. Whoever is silent longest makes room, or silent diallers would keep the guest out. */
  #evict(): void {
    for (const [socket, saidHello] of this.#handshakes) {
      if (saidHello) continue;
      this.#handshakes.delete(socket);
      socket.destroy();
      return;
    }
  }

  async #judge(hello: Hello) {
    const { sandboxId, incarnation, initialWindow = limits.windowInitial } = this.#options;
    const facts = {
      sandboxId,
      incarnation,
      peer: 'unknown',
      secrets: this.#secrets,
      connected: this.#current?.isOpen === true,
      shuttingDown: this.#isClosing,
      initialWindow,
      maxChannels: limits.channelsMax,
      newSecret: () => randomBytes(32),
    } as const;
    const decision = decideHello(hello, facts);
    if ('refuse' in decision) {
      this.#options.onRefused?.(decision.refuse.reason);
      if (decision.refuse.reason === 'already_connected') this.#challenge();
      return decision;
    }
    if (decision.secrets !== undefined && decision.secrets !== this.#secrets) {
      await this.#options.storeSecrets(decision.secrets);
      this.#secrets = decision.secrets;
      // While the pair was being stored another dialler may have become the guest.
      if (this.#current?.isOpen === true)
        return decideHello(hello, { ...facts, secrets: this.#secrets, connected: true });
    }
    return decision;
  }

  #take(connection: GuestConnection): void {
    this.#current = connection;
    void connection.closed.then(() => {
      if (this.#current === connection) this.#current = undefined;
    });
    this.#options.onConnection(connection);
  }

  /** The connected guest must show that it lives; a half-dead stream must not keep the real one out. */
  #challenge(): void {
    const connection = this.#current;
    if (connection === undefined || this.#challenged === connection) return;
    this.#challenged = connection;
    const timer = setTimeout(() => void connection.close('replaced'), limits.challengeDeadline);
    const done = () => {
      clearTimeout(timer);
      if (this.#challenged === connection) this.#challenged = undefined;
    };
    connection.ping().then(done, done);
  }
}
