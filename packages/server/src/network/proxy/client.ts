import { setMaxListeners } from 'node:events';
import type { Duplex } from 'node:stream';
import type { EgressProtocol } from '../egress.ts';

/** From its connection to the end of its first request's head. A program that connects has something to say. */
export const headMs = 30_000;
/** Between two requests. */
const idleMs = 60_000;

/** One connection of a program inside to the proxy, for as long as it lasts. */
export class Client {
  readonly stream: Duplex;
  readonly protocol: EgressProtocol;
  /** It has sent what cannot be read: nothing that came after it counts. */
  isSpoiled = false;
  #working = 0;
  #restsSince = performance.now();
  #hasWorked = false;
  #left: AbortController | undefined;

  constructor(stream: Duplex, protocol: EgressProtocol) {
    this.stream = stream;
    this.protocol = protocol;
  }

  /** The same connection, speaking otherwise from now on. */
  as(protocol: EgressProtocol): Client {
    const same = new Client(this.stream, protocol);
    // What is at work on it counts for the one that is known to the gate.
    same.work = () => this.work();
    return same;
  }

  /** Aborted when it is over: what is done for it alone ends with it. */
  get left(): AbortSignal {
    if (!this.#left) {
      const left = new AbortController();
      this.#left = left;
      // One for each of its requests that is being dialled for.
      setMaxListeners(0, left.signal);
      if (this.stream.destroyed) left.abort();
      else this.stream.once('close', () => left.abort());
    }
    return this.#left.signal;
  }

  /** How many of its requests are on their way. */
  get working(): number {
    return this.#working;
  }

  /** Something of it is on its way until the function that this gives is called. */
  work(): () => void {
    this.#working += 1;
    this.#hasWorked = true;
    let isDone = false;
    return () => {
      if (isDone) return;
      isDone = true;
      this.#working -= 1;
      this.#restsSince = performance.now();
    };
  }

  /** Ends one that keeps its place for nothing. */
  look(now: number): void {
    if (this.#working === 0 && now - this.#restsSince > (this.#hasWorked ? idleMs : headMs)) this.stream.destroy();
  }
}
