import type { ChannelFrameName } from './frame-types.ts';
import { limits } from './limits.ts';
import type { Shape } from './methods/method.ts';
import type { Violation } from './protocol-error.ts';

/**
 * One channel as one side sees it. Pure: a state and a frame in, a state or a violation out.
 *
 * Vocabulary
 * - Opener and acceptor: who sent `open`, and the other. Each sends in its own direction, a *half*.
 * - A half is `open` until its sender's terminal frame: for the opener `end` (or `open` itself when the method has no
 *   input); for the acceptor `end` when it answers first, else `result`; for both `reset`.
 * - A channel is *over* when both halves are. Its id is never used again.
 *
 * Laws
 * 1. Only `data` uses credit, and never more than the receiver granted.
 * 2. `reset` may be sent once, at any time before the channel is over. It finishes the sender's half, and the peer answers
 *    with a terminal frame of its own (usually `reset`) when its half is still open. Thus neither side forgets a channel
 *    on which the other may still send.
 * 3. What crosses on the wire is no fault: `window` and `reset` for a half or channel that is over are ignored; data that
 *    was on its way when the receiver reset, or answered before the input ended, is counted and discarded.
 * 4. An acceptor that answers `alone` or `last` before the input ended wants no more of it; the opener sends `end`.
 *
 * Example, `file.write` that succeeds: open, data, window, data, end, result. Both halves are over.
 */
export type Role = 'opener' | 'acceptor';
export type Phase = 'open' | 'finished' | 'reset';

export interface Half {
  readonly phase: Phase;
  /** Bytes of data that the sender of this half may still send. */
  readonly credit: number;
}

export interface ChannelState {
  readonly shape: Shape;
  readonly answered: boolean;
  readonly opener: Half;
  readonly acceptor: Half;
}

/** `size` is the payload length of data, the credit of window, and means nothing for the others. */
export interface ChannelEvent {
  readonly from: Role;
  /** Whether the side that keeps this state sent the frame or got it. */
  readonly way: 'sent' | 'received';
  readonly frame: ChannelFrameName;
  readonly size: number;
}

export type Verdict =
  /** `discard`: legal, but its content is of no use any more. */
  | { readonly ok: true; readonly state: ChannelState; readonly discard: boolean }
  | { readonly ok: false; readonly violation: Violation };

const peerOf = { opener: 'acceptor', acceptor: 'opener' } as const;

/** The state after `open`. Each credit is what the other side's receive window allows. */
export function openChannel(shape: Shape, openerCredit: number, acceptorCredit: number): ChannelState {
  return {
    shape,
    answered: false,
    opener: { phase: shape.input ? 'open' : 'finished', credit: shape.input ? openerCredit : 0 },
    acceptor: { phase: 'open', credit: shape.output === 'none' ? 0 : acceptorCredit },
  };
}

export function isOver(state: ChannelState): boolean {
  return state.opener.phase !== 'open' && state.acceptor.phase !== 'open';
}

/** Whether `role` owes the peer a terminal frame: the peer has reset and its own half is still open. */
export function owesReset(state: ChannelState, role: Role): boolean {
  return state[peerOf[role]].phase === 'reset' && state[role].phase === 'open';
}

export function advance(state: ChannelState, event: ChannelEvent): Verdict {
  if (isOver(state)) return whenOver(state, event);
  if (state[event.from].phase === 'reset') return refuse('after_reset');
  switch (event.frame) {
    case 'open':
      return refuse('bad_channel_id');
    case 'reset':
      return accept(state, event.from, { phase: 'reset' });
    case 'window':
      return onWindow(state, event);
    case 'data':
      return onData(state, event);
    case 'end':
      return onEnd(state, event);
    case 'result':
      return onResult(state, event);
  }
}

function whenOver(state: ChannelState, { way, frame }: ChannelEvent): Verdict {
  const crossed = way === 'received' && (frame === 'window' || frame === 'reset');
  return crossed ? { ok: true, state, discard: true } : refuse('channel_closed');
}

function onWindow(state: ChannelState, { from, way, size }: ChannelEvent): Verdict {
  const peer = peerOf[from];
  const half = state[peer];
  if (!hasStream(state.shape, peer)) return refuse('no_such_stream');
  if (size < 1 || size > limits.windowMax) return refuse('window_overflow');
  if (half.phase !== 'open') return way === 'received' ? { ok: true, state, discard: true } : refuse('after_end');
  if (half.credit + size > limits.windowMax) return refuse('window_overflow');
  return accept(state, peer, { credit: half.credit + size });
}

function onData(state: ChannelState, { from, way, size }: ChannelEvent): Verdict {
  const half = state[from];
  if (!hasStream(state.shape, from)) return refuse('no_such_stream');
  if (half.phase !== 'open') return refuse('after_end');
  if (from === 'acceptor' && state.shape.answer === 'first' && !state.answered) return refuse('result_expected');
  if (size < 1) return refuse('bad_frame_length');
  if (from === 'acceptor' && state.shape.output === 'records' && size > limits.recordMax)
    return refuse('frame_too_large');
  if (size > half.credit) return refuse('window_exceeded');
  const unwanted = isUnwanted(state, from);
  // A sender that knows its data is unwanted owes a terminal frame instead.
  if (unwanted && way === 'sent') return refuse('after_end');
  return accept(state, from, { credit: half.credit - size }, unwanted);
}

function onEnd(state: ChannelState, { from }: ChannelEvent): Verdict {
  if (from === 'opener' ? !state.shape.input : state.shape.answer !== 'first') return refuse('no_such_stream');
  if (state[from].phase !== 'open') return refuse('after_end');
  if (from === 'acceptor' && !state.answered) return refuse('result_expected');
  return accept(state, from, { phase: 'finished' }, isUnwanted(state, from));
}

function onResult(state: ChannelState, { from }: ChannelEvent): Verdict {
  if (from === 'opener' || state.answered) return refuse('unexpected_result');
  const { shape, opener, acceptor } = state;
  const half = shape.answer === 'first' ? {} : ({ phase: 'finished' } as const);
  return accept({ shape, answered: true, opener, acceptor }, from, half, isUnwanted(state, from));
}

/** The receiver of `from`'s half has reset, or it answered before the input ended (law 4). */
function isUnwanted(state: ChannelState, from: Role): boolean {
  const peer = state[peerOf[from]];
  return peer.phase === 'reset' || (from === 'opener' && state.shape.answer !== 'first' && state.answered);
}

function hasStream(shape: Shape, role: Role): boolean {
  return role === 'opener' ? shape.input : shape.output !== 'none';
}

/** Field by field: this is done for every frame, and spreading with a computed name takes ten times as long. */
function accept(state: ChannelState, role: Role, change: Partial<Half>, discard = false): Verdict {
  const { shape, answered } = state;
  const before = state[role];
  const half: Half = { phase: change.phase ?? before.phase, credit: change.credit ?? before.credit };
  const opener = role === 'opener' ? half : state.opener;
  const acceptor = role === 'acceptor' ? half : state.acceptor;
  return { ok: true, discard, state: { shape, answered, opener, acceptor } };
}

function refuse(violation: Violation): Verdict {
  return { ok: false, violation };
}
