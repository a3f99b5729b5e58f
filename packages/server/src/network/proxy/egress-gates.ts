import type { Id } from '@caisson/contract';
import type { GuestClient, ProxyClient } from '@caisson/guest';
import { within } from '../../drivers/within.ts';
import { openDoors } from '../open-doors.ts';
import { Client } from './client.ts';
import { endWith } from './flow.ts';
import { type EgressLog, Gate, type GateParts } from './gate.ts';
import { HttpDoor } from './http-door.ts';
import { refusalBytes } from './refused.ts';
import { serveSocks } from './socks-door.ts';
import { Trust } from './trust.ts';
import type { Visit } from './visit.ts';

/** Clients of all sandboxes together: each takes two descriptors of the few thousand that a process has. */
const clientsMax = 8_192;
/** A tunnel through which nothing moves. Programs that mean to stay send something now and then. */
const idleMs = 15 * 60_000;
/** How often what moved is written down. */
const lookEveryMs = 1_000;
/** One line a second says that there were too many; each of a flood would be a flood of lines. */
const tellEveryMs = 1_000;

/** For a guest that is there. One that stands still does it when it is resumed, and nobody waits for that. */
const answerMs = 2_000;

export interface EgressOptions extends Omit<GateParts, 'trust'> {
  /** More roots of trust for TLS that we end and begin again, as PEM. */
  readonly extraRoots?: readonly string[] | undefined;
}

export type { EgressLog };

/** The gates of all sandboxes of this server. */
export class EgressGates {
  readonly #parts: GateParts;
  readonly #gates = new Map<string, { gate: Gate; guest: GuestClient | undefined }>();
  readonly #http = new HttpDoor();
  readonly #looking: NodeJS.Timeout;
  #clients = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: EgressOptions) {
    const { extraRoots, ...parts } = options;
    this.#parts = { ...parts, trust: new Trust(extraRoots) };
    this.#looking = setInterval(() => this.#look(), lookEveryMs);
    this.#looking.unref();
  }

  /** Takes what the guest carries. The rules are found at the first connection. */
  attach(sandbox: Id<'sandbox'>, guest: GuestClient): void {
    const present = this.#gates.get(sandbox);
    const gate = present?.gate ?? new Gate(sandbox, this.#parts);
    this.#gates.set(sandbox, { gate, guest });
    guest.ports.onProxyClient = (client) => this.#enter(sandbox, client);
  }

  /** Takes one connection of what has no guest, such as a step of a build. Its gate stays until it is forgotten. */
  admit(sandbox: Id<'sandbox'>, client: ProxyClient): void {
    if (!this.#gates.has(sandbox)) this.#gates.set(sandbox, { gate: new Gate(sandbox, this.#parts), guest: undefined });
    this.#enter(sandbox, client);
  }

  /** Reads the rules again. When it resolves, what they refuse is closed. */
  async rulesChanged(sandbox: Id<'sandbox'>): Promise<void> {
    const present = this.#gates.get(sandbox);
    if (!present) return;
    await present.gate.rulesChanged();
    await this.#open(present);
  }

  /** A sandbox that was made ahead has its owner. It was made with the rules that it has, so its doors are as they shall be. */
  async handedOver(sandbox: Id<'sandbox'>): Promise<void> {
    await this.#gates.get(sandbox)?.gate.handedOver();
  }

  /** Looks after the guests of these that an earlier server left: what they were told of the proxy went with it. */
  async adopted(sandboxes: Iterable<Id<'sandbox'>>): Promise<void> {
    for (const sandbox of sandboxes) {
      const present = this.#gates.get(sandbox);
      if (present) await this.#open(present);
    }
  }

  /** Opens what was not open when it was made. */
  async #open({ gate, guest }: { readonly gate: Gate; readonly guest: GuestClient | undefined }): Promise<void> {
    const { subject } = (await gate.standing()) ?? {};
    if (!guest || !subject || subject.isLate === false || subject.rules.mode === 'off') return;
    // Whether it fails is seen by whoever uses the sandbox, and it is done again at the next chance.
    const opened = openDoors(guest).catch(() => {});
    await within(opened, answerMs);
  }

  forget(sandbox: Id<'sandbox'>): void {
    const present = this.#gates.get(sandbox);
    this.#gates.delete(sandbox);
    present?.gate.shut();
  }

  openConnections(sandbox: Id<'sandbox'>): number {
    return this.#gates.get(sandbox)?.gate.clients.size ?? 0;
  }

  /** Guests that are linked, and connections that sandboxes have open. */
  get count(): { readonly guests: number; readonly connections: number } {
    return { guests: this.#gates.size, connections: this.#clients };
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    for (const sandbox of [...this.#gates.keys()]) this.forget(sandbox as Id<'sandbox'>);
    this.#http.close();
  }

  #enter(sandbox: Id<'sandbox'>, { kind, stream, deny }: ProxyClient): void {
    // A connection that breaks must not break more than itself, whoever listens to it at the moment.
    stream.on('error', () => {});
    const gate = this.#gates.get(sandbox)?.gate;
    if (!gate) {
      deny();
      return;
    }
    if (this.#clients >= clientsMax || !gate.hasRoom()) {
      this.#tellFull(gate, kind);
      if (kind === 'socks') deny();
      else endWith(stream, refusalBytes(sandbox, { why: 'connection_limit' }));
      return;
    }
    const client = new Client(stream, kind);
    this.#clients += 1;
    gate.clients.add(client);
    stream.once('close', () => {
      this.#clients -= 1;
      gate.clients.delete(client);
    });
    const serveFixed: Visit['serveFixed'] = (plain, fixed) => this.#http.enterFixed(gate, client, plain, fixed);
    if (kind === 'http') this.#http.enter({ gate, client, serveFixed });
    else serveSocks({ gate, client, serveFixed });
  }

  #tellFull(gate: Gate, kind: ProxyClient['kind']): void {
    const now = performance.now();
    if (now - this.#toldAt < tellEveryMs) return;
    this.#toldAt = now;
    gate.refused(kind, { why: 'connection_limit' });
  }

  #look(): void {
    const now = performance.now();
    for (const { gate } of this.#gates.values()) if (gate.clients.size > 0) gate.look(now, idleMs);
  }
}
