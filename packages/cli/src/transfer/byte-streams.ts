/** An iterable as a stream that reads ahead of nobody. */
export function webStream(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Passes pieces on and says how many bytes there have been. */
export async function* counted(
  source: AsyncIterable<Uint8Array | string>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    count(bytes.byteLength);
    yield bytes;
  }
}

/** When a stream can take more, or never will. */
export function drained(stream: Pick<NodeJS.EventEmitter, 'on' | 'off'>): Promise<void> {
  return new Promise((resolve) => {
    const events = ['drain', 'close', 'error'] as const;
    const done = () => {
      for (const name of events) stream.off(name, done);
      resolve();
    };
    for (const name of events) stream.on(name, done);
  });
}
