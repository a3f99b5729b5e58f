import { advance, type ChannelEvent, type ChannelState, openChannel, type Verdict } from '../src/protocol/channel.ts';
import { type ChannelFrameName, frameNames, isChannelFrame } from '../src/protocol/frame-types.ts';
import type { Shape } from '../src/protocol/methods/method.ts';

/** One method of each shape there is; a test checks that none is missing. */
export const shapes: Readonly<Record<string, Shape>> = {
  'process.wait': { input: false, output: 'none', answer: 'alone' },
  'file.write': { input: true, output: 'none', answer: 'alone' },
  'file.read': { input: false, output: 'bytes', answer: 'first' },
  'file.watch': { input: false, output: 'records', answer: 'first' },
  'file.list': { input: false, output: 'records', answer: 'last' },
  'file.tar_out': { input: false, output: 'bytes', answer: 'last' },
  'port.connect': { input: true, output: 'bytes', answer: 'first' },
};

export const channelFrames: readonly ChannelFrameName[] = frameNames.filter(isChannelFrame);
const sizes: Readonly<Record<ChannelFrameName, number>> = { open: 0, result: 0, data: 1, window: 1, end: 0, reset: 0 };

/** Every event that one side can meet, with sizes that never run out of credit. */
export const events: readonly ChannelEvent[] = (['opener', 'acceptor'] as const).flatMap((from) =>
  (['sent', 'received'] as const).flatMap((way) =>
    channelFrames.map((frame) => ({ from, way, frame, size: sizes[frame] })),
  ),
);

export interface Situation {
  readonly shape: string;
  readonly side: 'opener' | 'acceptor';
  readonly state: ChannelState;
}

const key = ({ answered, opener, acceptor }: ChannelState) => `${answered} ${opener.phase} ${acceptor.phase}`;

/** Every state that a side can reach, by every legal sequence; credit does not count as a difference. */
export function reachable(): Situation[] {
  const found: Situation[] = [];
  for (const [name, shape] of Object.entries(shapes)) {
    for (const side of ['opener', 'acceptor'] as const) {
      const seen = new Set<string>();
      const queue = [openChannel(shape, 1000, 1000)];
      for (let state = queue.shift(); state !== undefined; state = queue.shift()) {
        if (seen.has(key(state))) continue;
        seen.add(key(state));
        found.push({ shape: name, side, state });
        for (const event of eventsOf(side)) {
          const verdict = advance(state, event);
          if (verdict.ok) queue.push(refill(verdict.state));
        }
      }
    }
  }
  return found;
}

/** A side sends its own frames and receives the other's. */
export function eventsOf(side: 'opener' | 'acceptor'): ChannelEvent[] {
  return events.filter(({ from, way }) => (from === side) === (way === 'sent'));
}

const refill = (state: ChannelState): ChannelState => ({
  ...state,
  opener: { ...state.opener, credit: 1000 },
  acceptor: { ...state.acceptor, credit: 1000 },
});

export function verdictName(verdict: Verdict): string {
  if (!verdict.ok) return verdict.violation;
  return verdict.discard ? 'discard' : 'ok';
}

/** The whole table, for the vectors: shape, side and state, then the verdict of each event. */
export function channelVectors(): unknown[] {
  return reachable().map(({ shape, side, state }) => ({
    shape,
    side,
    answered: state.answered,
    opener: state.opener.phase,
    acceptor: state.acceptor.phase,
    verdicts: Object.fromEntries(
      eventsOf(side).map((event) => [`${event.way} ${event.frame}`, verdictName(advance(state, event))]),
    ),
  }));
}
