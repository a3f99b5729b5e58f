import type { Duplex } from 'node:stream';
import { portWindowBytes } from '@caisson/contract';
import type { RawData, WebSocket } from 'ws';
import type { SocketHandler } from './handler.ts';

/** How long a port may take to accept a connection. */
const dialMs = 10_000;
/** Proxies close what is silent for a minute; a peer that misses one whole round is gone. */
const pingMs = 15_000;
/** How long a peer may take to say goodbye, and to read what was sent before. */
const goodbyeMs = 5_000;
const highWaterBytes = 512 * 1024;
/** What the port has taken is told in steps of this. */
const ackBytes = portWindowBytes / 4;

export const connectPort: SocketHandler<'port.connect'> = async (context, call) => {
  const { params, query, shutdown } = call;
  const { guest } = await context.guests.of(call.caller, params.id, 'use', call);
  const stream = await guest.ports.connect({ port: params.port }, { timeoutMs: dialMs, signal: shutdown });
  // The client may have left before there was a socket to close.
  call.onEnd(() => stream.destroy());
  stream.on('error', () => {});
  return { kind: 'bytes', take: (socket, until) => carry(socket, stream, until, query.acks) };
};

/** Both directions at the pace of whoever is slower; each ends on its own. */
function carry(socket: WebSocket, stream: Duplex, until: readonly AbortSignal[], acks: boolean): void {
  const closing = new AbortController();
  let isAlive = true;
  const ping = setInterval(() => {
    if (isAlive) socket.ping();
    else socket.terminate();
    isAlive = false;
  }, pingMs);
  const close = (code: number, reason: string) => {
    closing.abort();
    clearInterval(ping);
    if (socket.readyState !== socket.OPEN) return;
    socket.resume();
    socket.close(code, reason);
    setTimeout(() => socket.terminate(), goodbyeMs).unref();
  };
  for (const signal of until) {
    if (signal.aborted) close(1001, 'going away');
    else signal.addEventListener('abort', () => close(1001, 'going away'), { once: true, signal: closing.signal });
  }
  socket.on('error', () => {});
  socket.on('pong', () => {
    isAlive = true;
  });
  socket.once('close', () => {
    close(1000, '');
    stream.destroy();
  });
  stream.once('error', () => close(1011, 'the connection broke'));
  stream.once('close', () => close(1000, ''));
  const acknowledged = toClient(socket, stream, acks);
  fromClient(socket, stream, acks, acknowledged, () => close(1008, 'not understood'));
}

/** Gives how to take what the client says of what it has got. */
function toClient(socket: WebSocket, stream: Duplex, acks: boolean): (total: number) => boolean {
  let sent = 0;
  let taken = 0;
  let buffered = 0;
  const go = () => {
    const isAhead = acks && sent - taken >= portWindowBytes;
    if (isAhead || buffered >= highWaterBytes) stream.pause();
    else if (stream.isPaused()) stream.resume();
  };
  stream.on('data', (bytes: Buffer) => {
    sent += bytes.length;
    buffered += bytes.length;
    socket.send(bytes, () => {
      buffered -= bytes.length;
      go();
    });
    go();
  });
  stream.on('end', () => {
    if (socket.readyState === socket.OPEN) socket.send(Buffer.alloc(0));
  });
  return (total) => {
    // Nobody can have got what was not sent.
    if (!acks || total < taken || total > sent) return false;
    taken = total;
    go();
    return true;
  };
}

function fromClient(
  socket: WebSocket,
  stream: Duplex,
  acks: boolean,
  acknowledged: (total: number) => boolean,
  refuse: () => void,
): void {
  let hasEnded = false;
  let waiting = 0;
  let accepted = 0;
  let told = 0;
  const accept = (size: number) => {
    accepted += size;
    waiting -= size;
    if (waiting <= portWindowBytes && socket.isPaused) socket.resume();
    if (!acks || (waiting > 0 && accepted - told < ackBytes) || socket.readyState !== socket.OPEN) return;
    told = accepted;
    socket.send(String(accepted));
  };
  socket.on('message', (data: RawData, isBinary: boolean) => {
    const bytes = data as Buffer;
    if (!isBinary) {
      const text = bytes.length <= 16 ? bytes.toString('latin1') : '';
      if (!/^\d{1,16}$/.test(text) || !acknowledged(Number(text))) refuse();
      return;
    }
    if (bytes.length === 0) {
      hasEnded = true;
      if (stream.writable) stream.end();
      return;
    }
    if (hasEnded) return refuse();
    if (!stream.writable) return;
    waiting += bytes.length;
    // Who keeps to the window is never held up: its acknowledgements come on the same socket, and what waits for them may
    // be what keeps this waiting.
    if (waiting > portWindowBytes) socket.pause();
    stream.write(bytes, () => accept(bytes.length));
  });
}
