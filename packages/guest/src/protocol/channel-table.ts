import { advance, type ChannelState, isOver, openChannel, owesReset, type Role } from './channel.ts';
import type { ChannelFrameName } from './frame-types.ts';
import { limits } from './limits.ts';
import type { Method, Shape } from './methods/method.ts';
import { type MethodName, methodNameOf, methods } from './methods.ts';
import { ProtocolError } from './protocol-error.ts';

/**
 * All channels of one connection, as one side sees them. It knows no bytes and no sockets: every frame that is sent or
 * received passes through it, and it says what to do or throws a ProtocolError, after which the connection is over.
 *
 * Laws
 * - The server opens odd ids, the guest even ones, each above every earlier one of its kind: an id is never reused, so
 *   "never opened" and "over" need one number to tell apart, not a list.
 * - A side has at most as many channels open as the other allowed in the handshake. A channel counts until it is over.
 */
export type Side = 'server' | 'guest';

export interface Terms {
  /** Receive window that this side, and the other, grant to each channel they accept or open without naming one. */
  readonly ownWindow: number;
  readonly peerWindow: number;
  /** Channels that this side, and the other, may have open as openers. */
  readonly ownChannels: number;
  readonly peerChannels: number;
}

export interface Received {
  /** Legal and of no use: drop it. */
  readonly discard: boolean;
  /** This side owes a terminal frame: send `reset` (code `cancelled`), or the end or result that was due anyway. */
  readonly owesReset: boolean;
  readonly over: boolean;
}

interface Entry {
  readonly role: Role;
  state: ChannelState;
}

const parity = { server: 1, guest: 0 } as const;

/** A method nobody here knows: the acceptor will reset it, and until then takes what its opener announced. */
const unknownShape = (input: boolean): Shape => ({ input, output: 'none', answer: 'alone' });

export class ChannelTable {
  readonly #side: Side;
  readonly #terms: Terms;
  readonly #entries = new Map<number, Entry>();
  readonly #open = { opener: 0, acceptor: 0 };
  #lastOwn: number;
  #lastPeer = 0;

  constructor(side: Side, terms: Terms) {
    this.#side = side;
    this.#terms = terms;
    // The first ids are 1 and 2; channel 0 is the connection.
    this.#lastOwn = side === 'server' ? -1 : 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Room for one more channel of this side's opening; false also when the ids are used up. */
  get mayOpen(): boolean {
    return this.#open.opener < this.#terms.ownChannels && this.#lastOwn + 2 <= limits.channelIdMax;
  }

  /** Bytes of data that this side may send on the channel now. */
  credit(channel: number): number {
    const entry = this.#entries.get(channel);
    return entry === undefined || entry.state[entry.role].phase !== 'open' ? 0 : entry.state[entry.role].credit;
  }

  /** Begins a channel and gives its id; the caller sends the `open` frame before any other of this channel. */
  open(name: MethodName, window = this.#terms.ownWindow): number {
    if (methods[name].opener !== this.#side) throw new ProtocolError('wrong_opener', name);
    if (!this.mayOpen) throw new ProtocolError('too_many_channels');
    this.#lastOwn += 2;
    this.#add(this.#lastOwn, 'opener', openChannel(methods[name], this.#terms.peerWindow, window));
    return this.#lastOwn;
  }

  /** An `open` frame came. Gives the method, or undefined when this side does not know it and must reset the channel. */
  accept(channel: number, open: { readonly method: number; readonly input: boolean; readonly window?: number }) {
    const ours = channel % 2 === parity[this.#side];
    if (ours || channel <= this.#lastPeer || channel > limits.channelIdMax) {
      throw new ProtocolError('bad_channel_id', `${channel}`);
    }
    if (this.#open.acceptor >= this.#terms.peerChannels) throw new ProtocolError('too_many_channels');
    const name = methodNameOf(open.method);
    const method: Method | undefined = name === undefined ? undefined : methods[name];
    if (method !== undefined && (method.opener === this.#side || method.input !== open.input)) {
      throw new ProtocolError('wrong_opener', name);
    }
    this.#lastPeer = channel;
    const shape = method ?? unknownShape(open.input);
    this.#add(channel, 'acceptor', openChannel(shape, this.#terms.ownWindow, open.window ?? this.#terms.peerWindow));
    return name;
  }

  /** A frame other than `open` came. */
  receive(channel: number, frame: Exclude<ChannelFrameName, 'open'>, size = 0): Received {
    const entry = this.#entries.get(channel);
    if (entry === undefined) return this.#receiveStray(channel, frame);
    const from = entry.role === 'opener' ? 'acceptor' : 'opener';
    const discard = this.#step(channel, entry, { from, way: 'received', frame, size });
    return { discard, owesReset: owesReset(entry.state, entry.role), over: isOver(entry.state) };
  }

  /** A frame other than `open` is about to be sent. Throws when that would break a law. */
  send(channel: number, frame: Exclude<ChannelFrameName, 'open'>, size = 0): void {
    const entry = this.#entries.get(channel);
    if (entry === undefined) throw new ProtocolError('channel_closed', `${frame} on ${channel}`);
    this.#step(channel, entry, { from: entry.role, way: 'sent', frame, size });
  }

  #step(channel: number, entry: Entry, event: Parameters<typeof advance>[1]): boolean {
    const verdict = advance(entry.state, event);
    if (!verdict.ok) throw new ProtocolError(verdict.violation, `${event.frame} ${event.way} on channel ${channel}`);
    entry.state = verdict.state;
    if (isOver(verdict.state)) {
      this.#entries.delete(channel);
      this.#open[entry.role] -= 1;
    }
    return verdict.discard;
  }

  #receiveStray(channel: number, frame: ChannelFrameName): Received {
    const last = channel % 2 === parity[this.#side] ? this.#lastOwn : this.#lastPeer;
    if (channel > last) throw new ProtocolError('unknown_channel', `${frame} on ${channel}`);
    if (frame !== 'window' && frame !== 'reset') throw new ProtocolError('channel_closed', `${frame} on ${channel}`);
    return { discard: true, owesReset: false, over: true };
  }

  #add(channel: number, role: Role, state: ChannelState): void {
    this.#entries.set(channel, { role, state });
    this.#open[role] += 1;
  }
}
