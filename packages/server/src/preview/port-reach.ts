import type { GuestClient } from '@caisson/guest';
import type { Guests } from '../sandbox/guests.ts';
import type { Caller } from '../tenancy/caller.ts';
import { PortConnection } from './port-connection.ts';
import { PortPool } from './port-pool.ts';
import type { PreviewTarget } from './preview-address.ts';
import type { KnownSandbox, SharedPorts } from './shared-ports.ts';

/** How long a port may take to accept a connection: it is on the same machine as the guest that asks. */
const dialMs = 10_000;

/** The way to a port: a connection that waits, or a new one, to a sandbox that is resumed first where it wants that. */
export class PortReach {
  readonly #ports: SharedPorts;
  readonly #guests: Guests;
  readonly #shutdown: AbortSignal;
  readonly #pool = new PortPool();

  constructor(ports: SharedPorts, guests: Guests, shutdown: AbortSignal) {
    this.#ports = ports;
    this.#guests = guests;
    this.#shutdown = shutdown;
    ports.onChanged = (sandbox) => this.#pool.drop(sandbox);
  }

  /** It counts as used until what this gives is called. Called before the state is looked at: see `Idle`. */
  visit(sandbox: PreviewTarget['sandbox']): () => void {
    return this.#guests.visit(sandbox);
  }

  /** A connection that is there, when its sandbox is known to be ready. */
  waiting({ sandbox, port }: PreviewTarget, mayRepeat: boolean): PortConnection | undefined {
    const known = this.#ports.peek(sandbox);
    return known?.sandbox.state === 'ready' ? this.#pool.take(sandbox, port, mayRepeat) : undefined;
  }

  giveBack({ sandbox, port }: PreviewTarget, connection: PortConnection): void {
    this.#pool.give(sandbox, port, connection);
  }

  async dial({ sandbox, port }: PreviewTarget): Promise<PortConnection> {
    const known = this.#ports.peek(sandbox);
    const guest = known?.sandbox.state === 'ready' ? known.guest : undefined;
    const { ports } = guest ?? (await this.#reach(sandbox));
    return new PortConnection(await ports.connect({ port }, { timeoutMs: dialMs, signal: this.#shutdown }));
  }

  close(): void {
    this.#pool.close();
  }

  /** As its owner, who opened the port: whoever was let in may use it. */
  async #reach(sandbox: PreviewTarget['sandbox']): Promise<GuestClient> {
    const known = await this.#ports.load(sandbox);
    const owner: KnownSandbox['sandbox']['owner'] = known?.sandbox.owner ?? { tenant: '', project: '', principal: '' };
    const caller: Caller = { owner, scope: 'use', key: null };
    const ends: (() => void)[] = [];
    const visit = { shutdown: this.#shutdown, onEnd: (end: () => void) => void ends.push(end) };
    try {
      const reached = await this.#guests.of(caller, sandbox, 'use', visit);
      const now = await this.#ports.load(sandbox);
      if (now?.sandbox.state === 'ready' && now.sandbox.incarnation === reached.sandbox.incarnation)
        now.guest = reached.guest;
      return reached.guest;
    } finally {
      for (const end of ends) end();
    }
  }
}
