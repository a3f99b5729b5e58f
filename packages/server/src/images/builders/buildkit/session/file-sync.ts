import { Message, writeMessage } from '../grpc/protobuf.ts';
import type { ServedCall } from '../grpc/server.ts';
import { GrpcError, grpcCodes } from '../grpc/status.ts';
import type { ContextEntry } from './context-tree.ts';

/** The kinds of packets. The first is the default, and so are its bytes: a packet of none ends the list. */
const packet = { stat: 0, request: 1, data: 2, end: 3, failure: 4 } as const;

/** How Go writes what a mode says besides permissions. */
const goBits = { folder: 2 ** 31, symlink: 2 ** 27, setuid: 2 ** 23, setgid: 2 ** 22, sticky: 2 ** 20 };

/** Far below what fits into one message. */
const pieceBytes = 256 * 1024;

/**
 * Sends a tree as BuildKit asks for it: first the list of everything in it, meanwhile the content of those files that the
 * other side wants, each by its place in the list.
 */
export async function sendTree(
  call: ServedCall,
  entries: readonly ContextEntry[],
  mtimeSeconds: number,
): Promise<void> {
  let sending = Promise.resolve();
  // One after the other; who waits for more is told by the end of the call when one fails.
  const send = (work: () => Promise<void>) => {
    sending = sending.then(work);
    sending.catch(() => call.cancel());
  };
  send(() => sendList(call, entries, mtimeSeconds));
  for await (const bytes of call.messages()) {
    const message = new Message(bytes);
    const kind = message.uint(1);
    if (kind === packet.failure) throw new GrpcError(grpcCodes.internal, message.bytes(4).toString());
    if (kind === packet.end) {
      await sending;
      await call.send(writeMessage([1, packet.end]));
      return;
    }
    if (kind !== packet.request) throw new GrpcError(grpcCodes.invalidArgument, `an unknown packet ${kind}`);
    const id = message.uint(3);
    const entry = entries[id];
    if (entry?.kind !== 'file') throw new GrpcError(grpcCodes.invalidArgument, `there is no file ${id}`);
    send(() => sendFile(call, id, entry));
  }
}

async function sendList(call: ServedCall, entries: readonly ContextEntry[], mtimeSeconds: number): Promise<void> {
  for (const entry of entries) await call.send(writeMessage([1, packet.stat], [2, statOf(entry, mtimeSeconds)]));
  await call.send(writeMessage());
}

async function sendFile(call: ServedCall, id: number, entry: ContextEntry): Promise<void> {
  for await (const chunk of entry.read()) {
    for (let at = 0; at < chunk.length; at += pieceBytes)
      await call.send(writeMessage([1, packet.data], [3, id], [4, chunk.subarray(at, at + pieceBytes)]));
  }
  await call.send(writeMessage([1, packet.data], [3, id]));
}

/** Owned by root, and of one time: neither is the caller's to choose. */
function statOf({ path, kind, mode, size, target }: ContextEntry, mtimeSeconds: number): Buffer {
  const bits =
    (mode & 0o777) +
    (mode & 0o4000 ? goBits.setuid : 0) +
    (mode & 0o2000 ? goBits.setgid : 0) +
    (mode & 0o1000 ? goBits.sticky : 0) +
    (kind === 'folder' ? goBits.folder : kind === 'symlink' ? goBits.symlink : 0);
  const nanoseconds = BigInt(mtimeSeconds) * 1_000_000_000n;
  return writeMessage([1, path], [2, bits], [5, size], [6, nanoseconds], [7, target]);
}
