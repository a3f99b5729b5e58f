import type { Duplex } from 'node:stream';

/**
 * Frames to the stream. All frames of one turn of the event loop leave in one `writev`; data waits when the stream has
 * more than it can take, everything else does not, because it is bounded by the number of channels.
 */
/** Above this data waits. Less makes the kernel's buffer run dry; more only grows the queue in front of small requests. */
const highWater = 512 * 1024;
/** Below this the frames of a turn are joined. */
const joinBytes = 16 * 1024;
/**
 * How long what nobody waits for waits for company. A frame of its own wakes everybody on the way, and its answer does so
 * again in the middle of whatever comes next. Longer only keeps more in the guest.
 */
const laterMs = 10;

export class FrameOutput {
  readonly #stream: Duplex;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #scheduled = false;
  #later: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;
  #open: (() => void) | undefined;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('drain', () => this.release());
  }

  push(...parts: readonly Uint8Array[]): void {
    for (const part of parts) {
      this.#queue.push(part);
      this.#queued += part.byteLength;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.flush());
  }

  /** For what nobody waits for: it leaves with the next frames, in its order, or a little later by itself. */
  pushLater(...parts: readonly Uint8Array[]): void {
    const wasScheduled = this.#scheduled;
    this.#scheduled = true;
    this.push(...parts);
    this.#scheduled = wasScheduled;
    if (!wasScheduled) this.#later ??= setTimeout(() => this.flush(), laterMs).unref();
  }

  flush(): void {
    this.#scheduled = false;
    clearTimeout(this.#later);
    this.#later = undefined;
    const queue = this.#queue;
    if (queue.length === 0 || this.#stream.destroyed || this.#stream.writableEnded) return;
    const queued = this.#queued;
    this.#queue = [];
    this.#queued = 0;
    // Many small frames are cheaper as one buffer than as a vector; large ones are not worth a copy.
    if (queued <= joinBytes) {
      const [only] = queue;
      this.#stream.write(queue.length === 1 && only !== undefined ? only : Buffer.concat(queue, queued));
      return;
    }
    this.#stream.cork();
    for (const part of queue) this.#stream.write(part);
    this.#stream.uncork();
  }

  /** Bytes that have not left yet. */
  get waiting(): number {
    return this.#stream.writableLength + this.#queued;
  }

  /** Undefined when more may be written now. */
  room(): Promise<void> | undefined {
    if (this.waiting < highWater) return undefined;
    this.#drained ??= new Promise((resolve) => {
      this.#open = resolve;
    });
    return this.#drained;
  }

  /** Lets everybody go on who waits for room; also when the stream is gone, so that they notice. */
  release(): void {
    this.#open?.();
    this.#open = undefined;
    this.#drained = undefined;
  }
}
