import { limits } from './limits.ts';

export interface FrameType {
  readonly code: number;
  /** Connection frames travel on channel 0, channel frames on any other. */
  readonly scope: 'connection' | 'channel';
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly payload: string;
  readonly about: string;
}

/** Types from here on are extensions: a receiver that does not know one skips its payload. */
export const extensionBase = 0x80;

export const frameTypes = {
  hello: {
    code: 0x01,
    scope: 'connection',
    minBytes: 1,
    maxBytes: limits.handshakePayloadMax,
    payload: 'message `hello`',
    about: 'guest to server, the first frame',
  },
  welcome: {
    code: 0x02,
    scope: 'connection',
    minBytes: 1,
    maxBytes: limits.handshakePayloadMax,
    payload: 'message `welcome`',
    about: 'server to guest: you are in',
  },
  refuse: {
    code: 0x03,
    scope: 'connection',
    minBytes: 1,
    maxBytes: limits.resetMax,
    payload: 'message `refuse`',
    about: 'server to guest: you are not, and the stream closes',
  },
  ping: {
    code: 0x04,
    scope: 'connection',
    minBytes: 8,
    maxBytes: 8,
    payload: '8 opaque bytes',
    about: 'asks for a pong; one unanswered ping for each side',
  },
  pong: {
    code: 0x05,
    scope: 'connection',
    minBytes: 8,
    maxBytes: 8,
    payload: 'the 8 bytes of the ping',
    about: 'answers a ping at once',
  },
  goaway: {
    code: 0x06,
    scope: 'connection',
    minBytes: 1,
    maxBytes: limits.resetMax,
    payload: 'message `goaway`',
    about: 'orderly close: no new channels; the open ones may finish',
  },
  open: {
    code: 0x10,
    scope: 'channel',
    minBytes: 1,
    maxBytes: limits.payloadMax,
    payload: 'message `open`',
    about: 'begins a channel with a method and its parameters',
  },
  result: {
    code: 0x11,
    scope: 'channel',
    minBytes: 0,
    maxBytes: limits.resultMax,
    payload: 'the result message of the method',
    about: 'the answer of the acceptor, once',
  },
  data: {
    code: 0x12,
    scope: 'channel',
    minBytes: 1,
    maxBytes: limits.payloadMax,
    payload: 'bytes, or exactly one record',
    about: 'the only frame that a window counts',
  },
  window: {
    code: 0x13,
    scope: 'channel',
    minBytes: 4,
    maxBytes: 4,
    payload: 'u32 credit in bytes, at least 1',
    about: 'allows the peer that many more bytes of data',
  },
  end: {
    code: 0x14,
    scope: 'channel',
    minBytes: 0,
    maxBytes: 0,
    payload: 'nothing',
    about: 'the sender sends no more data',
  },
  reset: {
    code: 0x15,
    scope: 'channel',
    minBytes: 1,
    maxBytes: limits.resetMax,
    payload: 'message `reset`',
    about: 'aborts both directions with an error',
  },
} as const satisfies Record<string, FrameType>;

export type FrameName = keyof typeof frameTypes;
export const frameNames = Object.keys(frameTypes) as readonly FrameName[];

/** The channel frames; the alphabet of the channel state machine. */
export type ChannelFrameName = {
  [K in FrameName]: (typeof frameTypes)[K]['scope'] extends 'channel' ? K : never;
}[FrameName];

const byCode: readonly (FrameName | undefined)[] = Array.from({ length: 256 }, (_, code) =>
  frameNames.find((name) => frameTypes[name].code === code),
);

export function frameNameOf(code: number): FrameName | undefined {
  return byCode[code];
}

export function isChannelFrame(name: FrameName): name is ChannelFrameName {
  return frameTypes[name].scope === 'channel';
}
