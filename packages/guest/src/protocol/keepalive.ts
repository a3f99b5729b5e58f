import { limits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';

/**
 * Tells a quiet peer from a dead one. Pure: the caller brings the time, in milliseconds of a monotonic clock, and acts.
 * Any frame counts as a sign of life. At most one ping of each side is unanswered, so a peer that pings without end
 * cannot make us queue pongs without end.
 */
export class Keepalive {
  #heardAt: number;
  #pinged: bigint | undefined;
  #next = 1n;

  constructor(now: number) {
    this.#heardAt = now;
  }

  /** What to do at `now`: nothing until `at`, send a ping with this payload, or give the peer up. */
  check(
    now: number,
  ):
    | { readonly do: 'wait'; readonly at: number }
    | { readonly do: 'ping'; readonly payload: Buffer }
    | { readonly do: 'dead' } {
    const silence = now - this.#heardAt;
    if (silence >= limits.deadAfter) return { do: 'dead' };
    if (this.#pinged !== undefined) return { do: 'wait', at: this.#heardAt + limits.deadAfter };
    if (silence < limits.pingAfter) return { do: 'wait', at: this.#heardAt + limits.pingAfter };
    return { do: 'ping', payload: this.ping() };
  }

  /** Begins a ping, also before its time: to measure, or to challenge. */
  ping(): Buffer {
    if (this.#pinged !== undefined) throw new ProtocolError('unexpected_pong', 'a ping is unanswered');
    this.#pinged = this.#next;
    this.#next += 1n;
    const payload = Buffer.alloc(8);
    payload.writeBigUInt64LE(this.#pinged);
    return payload;
  }

  heard(now: number): void {
    this.#heardAt = now;
  }

  pong(payload: Uint8Array): void {
    const value = new DataView(payload.buffer, payload.byteOffset, payload.byteLength).getBigUint64(0, true);
    if (value !== this.#pinged) throw new ProtocolError('unexpected_pong');
    this.#pinged = undefined;
  }
}

/**
 * Milliseconds before the n-th redial in a row (n from 0): doubling from `redialMin` to `redialMax`, of which a random
 * half is taken off (`random` in [0, 1)), so that the guests of one server do not all dial in the same millisecond.
 */
export function redialDelay(attempt: number, random: number): number {
  const full = Math.min(limits.redialMax, limits.redialMin * 2 ** Math.min(attempt, 16));
  return Math.round(full * (1 - random / 2));
}
