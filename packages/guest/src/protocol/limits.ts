/**
 * Every number of the protocol that bounds memory or time. A receiver checks a bound before it allocates or waits; a
 * sender never relies on the receiver being kinder than this table.
 */
export interface Limit {
  readonly value: number;
  readonly unit: 'bytes' | 'count' | 'milliseconds' | 'version';
  /** Why this number, and which direction is worse. */
  readonly why: string;
}

const KiB = 1024;
const MiB = 1024 * KiB;

export const limitTable = {
  versionMin: { value: 1, unit: 'version', why: 'oldest protocol version spoken' },
  versionMax: { value: 1, unit: 'version', why: 'newest protocol version spoken' },
  headerBytes: { value: 12, unit: 'bytes', why: 'fixed, so that a reader needs one read to know all of a frame' },
  fieldHeaderBytes: { value: 8, unit: 'bytes', why: 'tag, type, flags, length' },
  payloadMax: {
    value: 256 * KiB,
    unit: 'bytes',
    why: 'one frame; holds a large argv with its environment. Larger delays every other channel behind it',
  },
  handshakePayloadMax: {
    value: 4 * KiB,
    unit: 'bytes',
    why: 'any frame before welcome: a stranger must not make the server hold more',
  },
  dataAdvised: {
    value: 64 * KiB,
    unit: 'bytes',
    why: 'advised data payload: 64 us at 1 GB/s, so a small request never waits long. Smaller costs system calls',
  },
  recordMax: {
    value: 64 * KiB,
    unit: 'bytes',
    why: 'one record; not above windowMin, or a record could never be sent',
  },
  resultMax: {
    value: 128 * KiB,
    unit: 'bytes',
    why: 'one result; holds the largest extended attribute Linux has (64 KiB). Longer answers are records',
  },
  resetMax: { value: 4 * KiB, unit: 'bytes', why: 'one reset, goaway or refuse: a code and a sentence' },
  windowMin: { value: 64 * KiB, unit: 'bytes', why: 'smallest initial window; one whole record must fit' },
  windowInitial: {
    value: 256 * KiB,
    unit: 'bytes',
    why: 'default initial window: 1 GB/s at 250 us round trip. More costs memory for each stalled channel',
  },
  windowMax: {
    value: 16 * MiB,
    unit: 'bytes',
    why: 'most credit a sender may hold; 1 GB/s at 16 ms round trip, far below a 32-bit overflow',
  },
  channelsMax: {
    value: 4096,
    unit: 'count',
    why: 'open channels for each opener: 500 processes with five channels each, and room',
  },
  channelIdMax: {
    value: 0x7fff_ffff,
    unit: 'count',
    why: 'ids are never reused; whoever would pass this sends goaway and the guest redials',
  },
  fieldsMax: { value: 16384, unit: 'count', why: 'fields in one message, unknown ones too: bounds the decoding time' },
  pathMax: { value: 4095, unit: 'bytes', why: 'PATH_MAX without its NUL' },
  fileNameMax: { value: 255, unit: 'bytes', why: 'NAME_MAX' },
  argumentMax: { value: 131071, unit: 'bytes', why: 'one argument or variable: MAX_ARG_STRLEN without its NUL' },
  argumentsMax: { value: 4096, unit: 'count', why: 'arguments, and variables, of one process' },
  processesMax: {
    value: 4096,
    unit: 'count',
    why: 'running and not yet forgotten; at the bound spawn answers limit_reached, because dropping an exit status loses evidence',
  },
  ringDefault: {
    value: 1 * MiB,
    unit: 'bytes',
    why: 'output kept for each stream; must exceed the window, or the ring and not the window limits throughput',
  },
  ringMin: { value: 4 * KiB, unit: 'bytes', why: 'one page; what a ring gets when ringTotal is used up' },
  ringMax: { value: 16 * MiB, unit: 'bytes', why: 'most that a spawn may ask for' },
  ringTotal: {
    value: 64 * MiB,
    unit: 'bytes',
    why: 'all rings of one guest: the guest shares the memory limit of the sandbox and must not be what exhausts it',
  },
  handshakeDeadline: {
    value: 5_000,
    unit: 'milliseconds',
    why: 'dial to welcome; a silent stranger must not hold the one place',
  },
  pingAfter: {
    value: 15_000,
    unit: 'milliseconds',
    why: 'silence before a ping; shorter wakes idle sandboxes for nothing',
  },
  deadAfter: {
    value: 45_000,
    unit: 'milliseconds',
    why: 'silence before the peer counts as dead: a ping has 30 s for its pong',
  },
  challengeDeadline: {
    value: 5_000,
    unit: 'milliseconds',
    why: 'the connected guest must answer a ping in this time when another proven dialler appears',
  },
  redialMin: {
    value: 50,
    unit: 'milliseconds',
    why: 'first redial: a restarting server is missed for little more than its own start',
  },
  redialMax: {
    value: 2_000,
    unit: 'milliseconds',
    why: 'slowest redial: 1,000 waiting guests are 500 dials a second, which one server takes easily',
  },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof limitTable;

/** The bare numbers: `limits.payloadMax`. */
export const limits = Object.fromEntries(Object.entries(limitTable).map(([name, { value }]) => [name, value])) as {
  readonly [K in LimitName]: (typeof limitTable)[K]['value'];
};
