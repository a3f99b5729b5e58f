import type { Duplex } from 'node:stream';
import { decodeMessage } from '../protocol/decode-message.ts';
import { encodeMessage } from '../protocol/encode-message.ts';
import { encodeFrame, type Frame } from '../protocol/frame.ts';
import { FrameDecoder } from '../protocol/frame-decoder.ts';
import type { Decision } from '../protocol/handshake.ts';
import { limits } from '../protocol/limits.ts';
import { type Hello, hello as helloMessage, refuse } from '../protocol/messages.ts';
import { ProtocolError } from '../protocol/protocol-error.ts';
import { GuestConnection } from './guest-connection.ts';

/** Judges a hello. What it must remember (new secrets) it has stored durably when it resolves. */
export type Judge = (hello: Hello) => Promise<Decision> | Decision;

/**
 * The server's half of the handshake on any stream that a guest is at the other end of. Gives the connection, or
 * undefined when the guest was refused; throws when it broke a law or took too long. Nothing of a stranger is kept.
 */
export async function acceptGuest(stream: Duplex, judge: Judge): Promise<GuestConnection | undefined> {
  const hello = await readHello(stream, new FrameDecoder());
  const decision = await judge(hello);
  if ('refuse' in decision) {
    stream.end(encodeFrame('refuse', 0, encodeMessage(refuse, decision.refuse)));
    setTimeout(() => stream.destroy(), 1000).unref();
    return undefined;
  }
  return new GuestConnection(stream, hello, decision.welcome);
}

function readHello(stream: Duplex, decoder: FrameDecoder): Promise<Hello> {
  return new Promise((resolve, reject) => {
    let found: Hello | undefined;
    const finish = (error?: unknown) => {
      clearTimeout(deadline);
      stream.off('data', onData);
      stream.off('close', onClose);
      stream.off('error', finish);
      stream.pause();
      if (error === undefined && found !== undefined) {
        resolve(found);
        return;
      }
      stream.on('error', () => {});
      stream.destroy();
      reject(error);
    };
    const onFrame = (frame: Frame) => {
      if (frame.type !== 'hello' || found !== undefined) throw new ProtocolError('handshake_order', frame.type);
      found = decodeMessage(helloMessage, frame.payload);
    };
    const onData = (chunk: Buffer) => {
      try {
        decoder.push(chunk, onFrame);
        if (found === undefined) return;
        // Hello comes alone: whatever follows it before the welcome breaks the order.
        decoder.finish();
        finish();
      } catch (error) {
        finish(error);
      }
    };
    const onClose = () => finish(new ProtocolError('truncated', 'the stream ended before hello'));
    const deadline = setTimeout(() => finish(new ProtocolError('handshake_timeout')), limits.handshakeDeadline);
    stream.on('data', onData);
    stream.on('close', onClose);
    stream.on('error', finish);
  });
}
