/** gRPC puts five bytes before each message: whether it is compressed, and how long it is. */
const headBytes = 5;
/** More than BuildKit itself takes in one message. */
const messageBytesMax = 16 * 1024 * 1024;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(headBytes + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, headBytes);
  return framed;
}

/** The messages in a stream of bytes. Throws RangeError at what is none, or none of ours. */
export async function* messagesIn(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = headBytes;
  for await (const chunk of stream) {
    parts.push(chunk);
    size += chunk.length;
    if (size < wanted) continue;
    let bytes = Buffer.concat(parts, size);
    for (;;) {
      wanted = headBytes + (bytes.length < headBytes ? 0 : lengthOf(bytes));
      if (bytes.length < headBytes || bytes.length < wanted) break;
      yield bytes.subarray(headBytes, wanted);
      bytes = bytes.subarray(wanted);
    }
    parts = [bytes];
    size = bytes.length;
  }
  if (size > 0) throw new RangeError('a message is cut short');
}

function lengthOf(head: Buffer): number {
  if (head[0] !== 0) throw new RangeError('a message is compressed, which nobody asked for');
  const length = head.readUInt32BE(1);
  if (length > messageBytesMax) throw new RangeError(`a message has ${length} bytes`);
  return length;
}
