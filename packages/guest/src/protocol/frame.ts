import { extensionBase, type FrameName, type FrameType, frameNameOf, frameTypes } from './frame-types.ts';
import { limits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';

/**
 * One frame: twelve bytes of header, then the payload. All integers are little-endian.
 *
 *     offset  size  field
 *     0       4     payload length
 *     4       1     type
 *     5       1     flags, 0 in version 1
 *     6       2     reserved, 0
 *     8       4     channel; 0 is the connection itself
 */
export interface Frame {
  readonly type: FrameName;
  readonly channel: number;
  readonly payload: Uint8Array;
}

/** What a checked header says; an extension has no type here, and its payload is skipped. */
export interface Header {
  readonly type: FrameName | undefined;
  readonly channel: number;
  readonly length: number;
}

const empty = new Uint8Array(0);

/** The header alone, for a writer that hands header and payload to `writev` and copies neither. */
export function encodeHeader(type: FrameName, channel: number, length: number): Buffer {
  checkFrame(type, channel, length, limits.payloadMax);
  const header = Buffer.allocUnsafe(limits.headerBytes);
  header.writeUInt32LE(length, 0);
  header.writeUInt32LE(frameTypes[type].code, 4);
  header.writeUInt32LE(channel, 8);
  return header;
}

export function encodeFrame(type: FrameName, channel: number, payload: Uint8Array = empty): Buffer {
  const header = encodeHeader(type, channel, payload.byteLength);
  return payload.byteLength === 0 ? header : Buffer.concat([header, payload]);
}

/** Checks all that a header alone can break, so that nothing is allocated for a frame that is refused. */
export function decodeHeader(bytes: Buffer, at: number, payloadMax: number): Header {
  const length = bytes.readUInt32LE(at);
  const word = bytes.readUInt32LE(at + 4);
  const channel = bytes.readUInt32LE(at + 8);
  const code = word & 0xff;
  const type = frameNameOf(code);
  if (type === undefined) {
    if (code < extensionBase) throw new ProtocolError('unknown_frame', `0x${code.toString(16)}`);
    if (length > payloadMax) throw new ProtocolError('frame_too_large', `${length} bytes`);
    return { type, channel, length };
  }
  if (word >>> 8 !== 0) throw new ProtocolError('reserved_not_zero', `in the header of ${type}`);
  checkFrame(type, channel, length, payloadMax);
  return { type, channel, length };
}

function checkFrame(name: FrameName, channel: number, length: number, payloadMax: number): void {
  const type: FrameType = frameTypes[name];
  if (length > type.maxBytes || length > payloadMax) {
    throw new ProtocolError('frame_too_large', `${name} of ${length} bytes`);
  }
  if (length < type.minBytes) throw new ProtocolError('bad_frame_length', `${name} of ${length} bytes`);
  if ((channel === 0) !== (type.scope === 'connection')) {
    throw new ProtocolError('wrong_scope', `${name} on channel ${channel}`);
  }
}

export function encodeWindow(channel: number, credit: number): Buffer {
  if (credit < 1 || credit > limits.windowMax) throw new ProtocolError('window_overflow', `credit of ${credit}`);
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32LE(credit, 0);
  return encodeFrame('window', channel, payload);
}

/** The credit of a `window` frame that the decoder let through, and so has its four bytes. */
export function readCredit(payload: Uint8Array): number {
  return new DataView(payload.buffer, payload.byteOffset, payload.byteLength).getUint32(0, true);
}
