/**
 * What a peer can do wrong. Each of these ends the connection (best-effort goaway, then close): a peer that broke one
 * law cannot be trusted to be where we think it is in the stream. A request that merely fails is a `reset` with a code
 * from `errors.ts`, and the connection lives on.
 */
export const violations = {
  frame_too_large: 'a payload length above the limit of its frame type',
  bad_frame_length: 'a payload length below the least of its frame type, or not its fixed one',
  unknown_frame: 'an unknown frame type below 0x80',
  reserved_not_zero: 'a reserved byte or flag bit is set',
  wrong_scope: 'a connection frame on a channel, or a channel frame on channel 0',
  truncated: 'a field reaches beyond its message, or the stream ends inside a frame',
  wrong_type: 'a known tag with another wire type',
  wrong_length: 'an integer or boolean whose length is not its own',
  too_long: 'a text, name, bytes or message outside its bounds, or an encoded message that fits no frame',
  out_of_range: 'an integer outside its bounds, or a boolean that is neither 0 nor 1',
  unknown_choice: 'a number that names no value of its choice',
  invalid_text: 'text that is not UTF-8, or text or a name that holds NUL',
  duplicate_field: 'a second value for a field that is not repeated',
  missing_field: 'a required field is absent',
  too_many_items: 'a repeated field with more items than its bound',
  too_many_fields: 'a message with more fields than any may have',
  unknown_critical_field: 'an unknown tag marked must-understand',
  handshake_order: 'a frame that this point of the handshake does not allow',
  handshake_timeout: 'no welcome within the handshake deadline',
  version_not_offered: 'a welcome whose version was not offered',
  bad_channel_id: 'an opened id of the wrong parity, not above every earlier one, or above the limit',
  unknown_channel: 'a frame for a channel that was never opened',
  channel_closed: 'data, end, result or open for a channel that is over',
  too_many_channels: 'more open channels than the acceptor allows',
  wrong_opener: 'a method opened by the side that may not open it, or whose input flag contradicts its table',
  no_such_stream: 'data, end or window for a direction that the method does not have',
  after_end: 'a frame in a direction that its sender has finished',
  after_reset: 'a frame by a side that has reset the channel',
  result_expected: 'data or end before the result of a method that answers first',
  unexpected_result: 'a second result, or one by the opener',
  window_exceeded: 'more data than the receiver has granted',
  window_overflow: 'a credit of zero, or one that lifts the window above its limit',
  unexpected_pong: 'a pong that answers no ping, or a second ping before the first was answered',
} as const;

export type Violation = keyof typeof violations;

/** The only error that a decoder or a state machine of this protocol throws. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: Violation;

  constructor(code: Violation, detail?: string) {
    super(detail === undefined ? violations[code] : `${violations[code]}: ${detail}`);
    this.code = code;
  }
}
