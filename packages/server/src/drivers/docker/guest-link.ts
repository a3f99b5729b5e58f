import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { hasCode } from '@caisson/contract';
import { acceptGuest, decideHello, GuestClient, type GuestConnection, type Hello, limits } from '@caisson/guest';
import type { InstanceKey } from '../driver.ts';
import type { ExecStream } from './exec-stream.ts';
import type { SecretFile } from './secret-file.ts';

/** How an instance stands, as far as a connection to it matters. */
export type Standing = 'running' | 'paused' | 'ended' | 'unknown';

export interface GuestLinkOptions {
  readonly key: InstanceKey;
  readonly secrets: SecretFile;
  /** Starts a relay inside and gives its stream. */
  dial(signal: AbortSignal): Promise<ExecStream>;
  look(signal: AbortSignal): Promise<Standing>;
  /** The instance has ended: nothing will ever answer again. */
  onEnded(): void;
}

/**
 * Between two tries. The first is short, because a guest that was just started is on its way; one that could not prove who
 * it is will hardly do so later.
 */
const retryMs = { first: 20, longest: 2_000, refused: 30_000 };

/**
 * The server's end of the channel to one guest, which cannot dial: the server starts a relay inside whenever there is no
 * connection and the instance runs, and keeps one client through all of them.
 */
export class GuestLink {
  readonly client = new GuestClient();
  readonly #options: GuestLinkOptions;
  readonly #events = new EventEmitter();
  readonly #stop = new AbortController();
  #connection: GuestConnection | undefined;
  #isConnected = false;
  #isRefused = false;
  #lastFailure = 'nobody has tried yet';
  #loop: Promise<void> | undefined;

  constructor(options: GuestLinkOptions) {
    this.#options = options;
    this.#events.setMaxListeners(0);
  }

  /** Why the last try failed, for people. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /**
   * Resolves when the guest has answered for the first time; rejects with the signal's reason, or with why a try failed
   * where the next ones would fail the same.
   */
  async connected(signal: AbortSignal): Promise<void> {
    if (this.#isConnected) return;
    const hopeless = new AbortController();
    const give = (error: unknown) => hopeless.abort(error);
    this.#events.once('hopeless', give);
    try {
      await once(this.#events, 'connected', { signal: AbortSignal.any([signal, hopeless.signal]) });
    } catch (error) {
      throw hopeless.signal.aborted ? hopeless.signal.reason : error;
    } finally {
      this.#events.off('hopeless', give);
    }
  }

  /** What kept the guest from answering may be over. */
  wake(): void {
    this.#events.emit('wake');
  }

  /** The processes inside go on; another link finds them again. */
  async close(): Promise<void> {
    this.client.close();
    this.#stop.abort();
    this.#events.emit('wake');
    await this.#connection?.close('shutdown');
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (let tries = 0; !signal.aborted; tries += 1) {
      const connection = await this.#connect(signal);
      if (connection) {
        tries = 0;
        await connection.closed;
        this.#connection = undefined;
      }
      if (signal.aborted) return;
      const standing = await this.#options.look(signal).catch((): Standing => 'unknown');
      if (signal.aborted) return;
      if (standing === 'ended') {
        this.client.close();
        this.#options.onEnded();
        return;
      }
      await this.#rest(this.#waitOf(standing, tries));
    }
  }

  #waitOf(standing: Standing, tries: number): number {
    if (this.#isRefused) return retryMs.refused;
    return standing === 'running' ? Math.min(retryMs.longest, retryMs.first * 2 ** tries) : retryMs.longest;
  }

  async #connect(signal: AbortSignal): Promise<GuestConnection | undefined> {
    let stream: ExecStream | undefined;
    const leave = () => stream?.destroy();
    signal.addEventListener('abort', leave, { once: true });
    try {
      stream = await this.#options.dial(signal);
      const connection = await acceptGuest(stream, (hello) => this.#judge(hello));
      this.#isRefused = !connection;
      if (!connection) {
        this.#lastFailure = 'it was refused';
        return undefined;
      }
      if (signal.aborted) {
        await connection.close('shutdown');
        return undefined;
      }
      this.#connection = connection;
      this.#isConnected = true;
      this.client.use(connection);
      this.#events.emit('connected');
      return connection;
    } catch (error) {
      stream?.destroy();
      // One that is waited for in vain may hold something of the engine: it is not asked often.
      this.#isRefused = hasCode(error, 'driver_timeout') || hasCode(error, 'image_invalid');
      // An engine without room for a relay will not find any by itself.
      if (hasCode(error, 'storage_full')) this.#events.emit('hopeless', error);
      this.#lastFailure = stream?.words || (error instanceof Error ? error.message : String(error));
      return undefined;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #judge(hello: Hello) {
    const { key, secrets } = this.#options;
    const known = secrets.read();
    const decision = decideHello(hello, {
      sandboxId: key.sandbox,
      incarnation: key.incarnation,
      peer: 'unknown',
      secrets: known,
      connected: false,
      shuttingDown: this.#stop.signal.aborted,
      initialWindow: limits.windowInitial,
      maxChannels: limits.channelsMax,
      newSecret: () => randomBytes(32),
    });
    if (!('refuse' in decision) && decision.secrets && decision.secrets !== known)
      secrets.write({ ...decision.secrets, ready: known?.ready === true });
    return decision;
  }

  async #rest(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#events.off('wake', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#events.once('wake', done);
    });
  }
}
