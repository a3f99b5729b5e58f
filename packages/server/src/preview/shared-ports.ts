import { createHash, randomBytes } from 'node:crypto';
import {
  CaissonError,
  canUse,
  type Id,
  type OpenedPort,
  type PortLink,
  refusal,
  type Sandbox,
  type SharedPort,
} from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Sandboxes } from '../sandbox/sandboxes.ts';
import type { PortShare } from '../store/shared-ports.ts';
import type { Store } from '../store/store.ts';
import type { Caller } from '../tenancy/caller.ts';
import type { PreviewUrls } from './preview-urls.ts';
import type { PassSigner } from './signed-pass.ts';

/** What is known of a sandbox that is asked for, until something happens to it. */
export interface KnownSandbox {
  readonly sandbox: Sandbox;
  readonly shares: ReadonlyMap<number, PortShare>;
  /** Once somebody has reached it. */
  guest?: GuestClient;
}

export interface PortWish {
  readonly visibility: 'private' | 'public';
  readonly hostHeader: string;
  readonly rotate: boolean;
}

/** 24 random bytes: 192 bits, so that nobody guesses one and a plain digest is as good as a slow one. */
const tokenBytes = 24;
const maxOpenPorts = 64;
/** Beyond this the oldest are read again; strangers who ask for sandboxes that are not there must not fill the memory. */
const maxKnown = 5_000;

interface Loading {
  isStale: boolean;
  readonly known: Promise<KnownSandbox | null>;
}

/** Ports that are open to the outside: opening and closing them, and telling quickly which are. */
export class SharedPorts {
  /** Called when connections to a port, or everything kept of a sandbox, have lost their ground. */
  onClosed: ((sandbox: Id<'sandbox'>, port: number) => void) | undefined;
  onChanged: ((sandbox: Id<'sandbox'>) => void) | undefined;
  readonly #store: Store;
  readonly #sandboxes: Sandboxes;
  readonly #signer: PassSigner;
  readonly #urls: PreviewUrls;
  readonly #known = new Map<string, KnownSandbox | null>();
  readonly #loading = new Map<string, Loading>();
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #stopListening: () => void;

  constructor(store: Store, sandboxes: Sandboxes, signer: PassSigner, urls: PreviewUrls) {
    this.#store = store;
    this.#sandboxes = sandboxes;
    this.#signer = signer;
    this.#urls = urls;
    this.#stopListening = store.onEvent(({ subject, data }) => {
      this.#forget(subject);
      if (!('to' in data)) return;
      this.onChanged?.(subject as Id<'sandbox'>);
    });
  }

  stop(): void {
    this.#stopListening();
  }

  /** What is known without asking; undefined when it must be asked for, null when there is nothing to reach. */
  peek(id: string): KnownSandbox | null | undefined {
    return this.#known.get(id);
  }

  async load(id: Id<'sandbox'>): Promise<KnownSandbox | null> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const running = this.#loading.get(id);
    if (running && !running.isStale) return running.known;
    const loading: Loading = { isStale: false, known: this.#read(id) };
    this.#loading.set(id, loading);
    try {
      const found = await loading.known;
      // What happened meanwhile may not be in it.
      if (loading.isStale) return await this.load(id);
      this.#keep(id, found);
      return found;
    } finally {
      if (this.#loading.get(id) === loading) this.#loading.delete(id);
    }
  }

  async list(caller: Caller, id: string): Promise<{ sandbox: Sandbox; shares: SharedPort[] }> {
    const sandbox = await this.#sandboxes.get(caller, id);
    const shares = await this.#store.sharedPorts.of(sandbox.id);
    return { sandbox, shares: shares.map((share) => this.#shown(sandbox.id, share)) };
  }

  open(caller: Caller, id: string, port: number, wish: PortWish): Promise<{ opened: OpenedPort; isNew: boolean }> {
    return this.#inTurn(id, async () => {
      const sandbox = await this.#changeable(caller, id);
      const shares = await this.#store.sharedPorts.of(sandbox.id);
      const before = shares.find((share) => share.port === port);
      if (!before && shares.length >= maxOpenPorts)
        throw new CaissonError('max_ports_reached', `${id} has ${shares.length} open ports`);
      const { visibility, hostHeader } = wish;
      const kept = wish.rotate ? undefined : before;
      const token =
        visibility === 'private' && !kept?.tokenHash ? randomBytes(tokenBytes).toString('base64url') : undefined;
      const share: PortShare = {
        port,
        share: kept?.share ?? randomBytes(12).toString('hex'),
        visibility,
        hostHeader,
        tokenHash: token === undefined ? (kept?.tokenHash ?? null) : tokenHash(token),
        openedAt: kept?.openedAt ?? Date.now(),
      };
      if (!(await this.#store.sharedPorts.put(sandbox.id, share)))
        throw new CaissonError('sandbox_destroyed', `${id} has been destroyed`);
      this.#forget(id);
      if (before && (wish.rotate || visibility === 'private')) {
        const isNarrower = wish.rotate || before.visibility === 'public';
        if (isNarrower) this.onClosed?.(sandbox.id, port);
      }
      const shown = this.#shown(sandbox.id, share);
      return { opened: token === undefined ? shown : { ...shown, token }, isNew: before === undefined };
    });
  }

  close(caller: Caller, id: string, port: number): Promise<SharedPort> {
    return this.#inTurn(id, async () => {
      const sandbox = await this.#sandboxes.own(caller, id);
      const share = await this.#store.sharedPorts.remove(sandbox.id, port);
      this.#forget(id);
      if (!share) throw notOpen(id, port);
      this.onClosed?.(sandbox.id, port);
      return this.#shown(sandbox.id, share);
    });
  }

  /** Opens nothing: who has the link gets in as long as the port stays open and the link lasts. */
  async link(caller: Caller, id: string, port: number, seconds: number): Promise<PortLink> {
    const sandbox = await this.#sandboxes.own(caller, id);
    const share = (await this.#store.sharedPorts.of(sandbox.id)).find((one) => one.port === port);
    if (!share || sandbox.state === 'destroying' || sandbox.state === 'destroyed') throw notOpen(id, port);
    const expiresAt = Math.floor(Date.now() / 1000) + seconds;
    const pass = this.#signer.sign('link', { sandbox: sandbox.id, port, share: share.share }, expiresAt);
    const { url, pathUrl } = this.#urls.of(sandbox.id, port);
    const withPass = (base: string | null) => (base === null ? null : `${base}?caisson-link=${pass}`);
    return { url: withPass(url), pathUrl: withPass(pathUrl), expiresAt: new Date(expiresAt * 1000).toISOString() };
  }

  #shown(sandbox: Id<'sandbox'>, share: PortShare): SharedPort {
    const { port, visibility, hostHeader, openedAt } = share;
    const place = this.#urls.of(sandbox, port);
    return { port, visibility, hostHeader, ...place, openedAt: new Date(openedAt).toISOString() };
  }

  async #changeable(caller: Caller, id: string): Promise<Sandbox> {
    const sandbox = await this.#sandboxes.own(caller, id);
    if (canUse('configure', sandbox.state)) return sandbox;
    throw new CaissonError(refusal(sandbox.state), `${id} is ${sandbox.state}: no port of it can be opened now`);
  }

  async #read(id: Id<'sandbox'>): Promise<KnownSandbox | null> {
    const sandbox = await this.#store.sandboxes.get(id);
    if (!sandbox || sandbox.state === 'destroying' || sandbox.state === 'destroyed') return null;
    const shares = await this.#store.sharedPorts.of(sandbox.id);
    return { sandbox, shares: new Map(shares.map((share) => [share.port, share])) };
  }

  #keep(id: string, known: KnownSandbox | null): void {
    if (this.#known.size >= maxKnown) {
      const oldest = this.#known.keys().next();
      if (!oldest.done) this.#known.delete(oldest.value);
    }
    this.#known.set(id, known);
  }

  #forget(id: string): void {
    this.#known.delete(id);
    const loading = this.#loading.get(id);
    if (loading) loading.isStale = true;
  }

  /** Two that open the same port at once must not both be told a token. */
  #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(work, work);
    this.#turns.set(id, turn);
    const leave = () => {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    };
    turn.then(leave, leave);
    return turn;
  }
}

export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function notOpen(id: string, port: number): CaissonError {
  return new CaissonError('port_not_open', `the port ${port} of ${id} is not open`);
}
