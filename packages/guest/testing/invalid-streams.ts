import { encodeMessage } from '../src/protocol/encode-message.ts';
import { encodeFrame } from '../src/protocol/frame.ts';
import { open } from '../src/protocol/messages.ts';
import { methods } from '../src/protocol/methods.ts';
import type { Violation } from '../src/protocol/protocol-error.ts';

/** Streams that a decoder must refuse, after the handshake, with this violation. `goaway` stands for every message. */
export interface InvalidStream {
  readonly about: string;
  readonly hex: string;
  readonly violation: Violation;
}

const reason = '0100010008000000' + '0100000000000000';
const text = '0200040002000000' + '6869';
const inGoaway = (hex: string) => encodeFrame('goaway', 0, Buffer.from(hex, 'hex')).toString('hex');
const resetOf = (hex: string) => encodeFrame('reset', 1, Buffer.from(hex, 'hex')).toString('hex');
const seventeenTags = encodeFrame(
  'open',
  1,
  encodeMessage(open, {
    method: methods['process.spawn'].number,
    input: false,
    params: Buffer.from('090004000100000061'.repeat(17), 'hex'),
  }),
).toString('hex');
const row = (about: string, violation: Violation, hex: string): InvalidStream => ({ about, hex, violation });

export const invalidStreams: readonly InvalidStream[] = [
  row('a length of 4 GiB', 'frame_too_large', 'ffffffff1200000001000000'),
  row('data one byte above the largest payload', 'frame_too_large', '010004001200000001000000'),
  row('a result one byte above its bound', 'frame_too_large', '010002001100000001000000'),
  row('an extension above the largest payload', 'frame_too_large', '010004008000000000000000'),
  row('a ping of seven bytes', 'bad_frame_length', '070000000400000000000000'),
  row('empty data', 'bad_frame_length', '000000001200000001000000'),
  row('frame type 0', 'unknown_frame', '000000000000000000000000'),
  row('frame type 0x7f', 'unknown_frame', '000000007f00000001000000'),
  row('a flag in an end', 'reserved_not_zero', '000000001401000001000000'),
  row('a reserved byte in an end', 'reserved_not_zero', '000000001400000101000000'),
  row('an end on channel 0', 'wrong_scope', '000000001400000000000000'),
  row('a ping on channel 1', 'wrong_scope', '080000000400000001000000'),
  row('a stream that stops in a header', 'truncated', '0000000014000000'),
  row('a stream that stops in a payload', 'truncated', '02000000120000000100000061'),
  row('a message that stops in a field header', 'truncated', inGoaway(`${reason}${text}0300`)),
  row('a field that reaches beyond its message', 'truncated', inGoaway(`${reason}02000400ffffffff6869`)),
  row('a known tag with another type', 'wrong_type', inGoaway(`${reason}02000500020000006869`)),
  row('an integer of four bytes', 'wrong_length', inGoaway(`010001000400000001000000${text}`)),
  row('a choice that has no such number', 'unknown_choice', inGoaway(`01000100080000006300000000000000${text}`)),
  row('an errno above its bound', 'out_of_range', resetOf(`${reason}${text}03000100080000000010000000000000`)),
  row('seventeen tags of a spawn', 'too_many_items', seventeenTags),
  row('text that is not UTF-8', 'invalid_text', inGoaway(`${reason}0200040002000000c0af`)),
  row('text with NUL', 'invalid_text', inGoaway(`${reason}02000400020000006100`)),
  row('text above its bound', 'too_long', inGoaway(`${reason}0200040001040000${'61'.repeat(1025)}`)),
  row('a second value', 'duplicate_field', inGoaway(`${reason}${text}${text}`)),
  row('a required field left out', 'missing_field', inGoaway(reason)),
  row('a reserved flag of a field', 'reserved_not_zero', inGoaway(`${reason}${text}0900050200000000`)),
  row(
    'an unknown field that must be understood',
    'unknown_critical_field',
    inGoaway(`${reason}${text}0900050100000000`),
  ),
];
