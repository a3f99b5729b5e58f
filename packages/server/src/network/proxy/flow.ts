import type { Duplex, Readable, Writable } from 'node:stream';
import { countRead } from '@caisson/guest';

/** Told of each piece; answers for how many milliseconds the flow must rest. */
export type Count = (bytes: number) => number;

export interface Flow {
  /** Leaves both ends alone; what was read has been written. */
  detach(): void;
}

/** One direction: every piece is counted and passed on, at the speed of the slower end. The end of one ends the other. */
export function flow(from: Readable, to: Writable, count: Count): Flow {
  let isFull = false;
  let rest: NodeJS.Timeout | undefined;
  const goOn = () => {
    if (!isFull && rest === undefined) from.resume();
  };
  const onData = (piece: Buffer) => {
    const restMs = count(piece.byteLength);
    countRead(piece.byteLength);
    if (!to.write(piece)) isFull = true;
    if (restMs >= 1 && rest === undefined) {
      rest = setTimeout(() => {
        rest = undefined;
        goOn();
      }, restMs);
    }
    if (isFull || rest !== undefined) from.pause();
  };
  const onDrain = () => {
    isFull = false;
    goOn();
  };
  const onEnd = () => {
    to.end();
  };
  const detach = () => {
    clearTimeout(rest);
    from.off('data', onData);
    from.off('end', onEnd);
    from.off('close', detach);
    to.off('drain', onDrain);
  };
  from.on('data', onData);
  from.on('end', onEnd);
  from.on('close', detach);
  to.on('drain', onDrain);
  from.resume();
  return {
    detach() {
      from.pause();
      detach();
    },
  };
}

/**
 * When one of them breaks the other must not go on. One that ended well in both directions closes alone. Gives back how to
 * part them. Both have somebody else who listens to their errors.
 */
export function bind(one: Duplex, other: Duplex): () => void {
  const watch = (mine: Duplex, theirs: Duplex) => {
    const onError = () => theirs.destroy();
    const onClose = () => {
      if (!mine.readableEnded || !mine.writableFinished) theirs.destroy();
    };
    mine.on('error', onError);
    mine.on('close', onClose);
    return () => {
      mine.off('error', onError);
      mine.off('close', onClose);
    };
  };
  const [mine, theirs] = [watch(one, other), watch(other, one)];
  return () => {
    mine();
    theirs();
  };
}

/** How long a client has for the last thing that is said to it. */
const partingMs = 5_000;

/** Says this and closes. What still comes is read and dropped, so that the end of it is seen. */
export function endWith(stream: Duplex, bytes: Buffer): void {
  const deadline = setTimeout(() => stream.destroy(), partingMs);
  stream.once('close', () => clearTimeout(deadline));
  stream.end(bytes);
  stream.resume();
}
