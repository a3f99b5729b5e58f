import { guestErrorNumbers } from './errors.ts';
import { bool, bytes, choice, message, optional, text, uint, type Value } from './field.ts';
import { limits } from './limits.ts';

/** The messages of the connection itself. Fields of hello, welcome and refuse keep their meaning in every version. */
const version = (tag: number, about: string) => uint(tag, 65535, about, 1);
const initialWindow = (tag: number) =>
  uint(tag, limits.windowMax, 'receive window that the sender grants to each channel', limits.windowMin);
const maxChannels = (tag: number) => uint(tag, limits.channelsMax, 'channels the receiver may have open at once', 1);

export const hello = message('hello', 'first frame of the guest', {
  minVersion: version(1, 'oldest protocol version the guest speaks'),
  maxVersion: version(2, 'newest'),
  guestVersion: text(3, 64, 'release of the guest, for people', 1),
  sandboxId: text(4, 32, 'the sandbox it believes it is', 1),
  incarnation: uint(5, 2 ** 31, 'raised by recreate; an older one is refused'),
  bootId: bytes(6, 16, 'random for each start of the guest: another one means that every process is gone', 16),
  secret: optional(bytes(7, 32, 'the newest secret it holds; absent where the peer is known by its credentials', 32)),
  initialWindow: initialWindow(8),
  maxChannels: maxChannels(9),
});

export const welcome = message('welcome', 'the server takes the guest', {
  version: version(1, 'the version both speak from the next frame on'),
  nextSecret: optional(bytes(2, 32, 'to show at the next dial; kept in memory only', 32)),
  initialWindow: initialWindow(3),
  maxChannels: maxChannels(4),
});

export const refuseReasons = {
  auth_failed: 1,
  wrong_sandbox: 2,
  stale_incarnation: 3,
  no_common_version: 4,
  already_connected: 5,
  shutting_down: 6,
} as const;
export type RefuseReason = keyof typeof refuseReasons;

export const refuse = message('refuse', 'the server does not take the guest and closes', {
  reason: choice(1, refuseReasons, 'why; the guest redials whatever it says'),
  message: text(2, 1024, 'for people; never holds a secret'),
});

export const goawayReasons = {
  shutdown: 1,
  protocol_error: 2,
  ids_exhausted: 3,
  replaced: 4,
  sandbox_ends: 5,
} as const;

export const goaway = message('goaway', 'orderly close', {
  reason: choice(1, goawayReasons, 'why'),
  message: text(2, 1024, 'for people; of a protocol error its code and detail'),
});

export const open = message('open', 'begins a channel', {
  method: uint(1, 0xffff, 'number of the method', 1),
  input: bool(2, 'the opener will send data and an end; must agree with the table of methods'),
  window: optional(
    uint(3, limits.windowMax, 'receive window of the opener; its handshake value when absent', limits.windowMin),
  ),
  params: bytes(4, limits.payloadMax - 128, 'the parameter message of the method'),
});

export const reset = message('reset', 'a failed or cancelled channel', {
  code: choice(1, guestErrorNumbers, 'from the table of errors'),
  message: text(2, 1024, 'for people'),
  errno: optional(uint(3, 4095, 'the errno behind it, as Linux numbers it', 1)),
});

export type Hello = Value<typeof hello>;
export type Welcome = Value<typeof welcome>;
export type Refuse = Value<typeof refuse>;
export type Goaway = Value<typeof goaway>;
export type Open = Value<typeof open>;
export type Reset = Value<typeof reset>;

export const connectionMessages = { hello, welcome, refuse, goaway, open, reset } as const;
