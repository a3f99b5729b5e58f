import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventsOf, reachable, shapes } from '../../testing/channel-states.ts';
import {
  advance,
  type ChannelEvent,
  type ChannelState,
  isOver,
  openChannel,
  owesReset,
  type Verdict,
} from './channel.ts';
import { limits } from './limits.ts';
import type { Method, Shape } from './methods/method.ts';
import { methodNames, methods } from './methods.ts';

const pairs = reachable().flatMap((situation) =>
  eventsOf(situation.side).map((event) => ({ ...situation, event, verdict: advance(situation.state, event) })),
);
const violation = (verdict: Verdict) => (verdict.ok ? undefined : verdict.violation);
const other = (role: 'opener' | 'acceptor') => (role === 'opener' ? 'acceptor' : 'opener');
const shapeOf = (name: string): Shape => shapes[name] ?? { input: false, output: 'none', answer: 'alone' };

test('the shapes under test are exactly those of the methods', () => {
  const text = ({ input, output, answer }: Shape) => `${input} ${output} ${answer}`;
  expect(new Set(Object.values(shapes).map(text))).toEqual(new Set(methodNames.map((name) => text(methods[name]))));
  for (const name of methodNames) {
    const method: Method = methods[name];
    expect(method.output === 'none').toBe(method.answer === 'alone');
    expect(method.output === 'records').toBe(method.record !== undefined);
  }
});

describe(`each of ${pairs.length} pairs of a reachable state and a frame`, () => {
  test('is refused when the channel is over, except what may have crossed', () => {
    for (const { state, event, verdict } of pairs.filter(({ state }) => isOver(state))) {
      const crossed = event.way === 'received' && (event.frame === 'window' || event.frame === 'reset');
      expect(verdict).toEqual(
        crossed ? { ok: true, state, discard: true } : { ok: false, violation: 'channel_closed' },
      );
    }
  });

  const live = pairs.filter(({ state }) => !isOver(state));
  const speaking = live.filter(({ state, event }) => state[event.from].phase !== 'reset');

  test('is refused when its sender has reset', () => {
    const after = live.filter(({ state, event }) => state[event.from].phase === 'reset');
    expect(after.length).toBeGreaterThan(0);
    for (const { verdict } of after) expect(violation(verdict)).toBe('after_reset');
  });

  test('accepts a reset at any time before, and it finishes the half of its sender', () => {
    for (const { event, verdict } of speaking.filter(({ event }) => event.frame === 'reset')) {
      expect(verdict.ok && verdict.state[event.from].phase).toBe('reset');
    }
  });

  test('refuses a second open', () => {
    for (const { verdict } of speaking.filter(({ event }) => event.frame === 'open')) {
      expect(violation(verdict)).toBe('bad_channel_id');
    }
  });

  test('accepts one result, of the acceptor', () => {
    for (const { state, event, verdict } of speaking.filter(({ event }) => event.frame === 'result')) {
      expect(verdict.ok).toBe(event.from === 'acceptor' && !state.answered);
    }
  });

  test('accepts data just in an open half that has a stream, after a result that comes first', () => {
    for (const { shape, state, event, verdict } of speaking.filter(({ event }) => event.frame === 'data')) {
      const { input, output, answer } = shapeOf(shape);
      const stream = event.from === 'opener' ? input : output !== 'none' && (answer !== 'first' || state.answered);
      const early = event.from === 'opener' && answer !== 'first' && state.answered;
      const unwanted = early || state[other(event.from)].phase === 'reset';
      const legal = stream && state[event.from].phase === 'open' && !(unwanted && event.way === 'sent');
      expect({ event, ok: verdict.ok }).toEqual({ event, ok: legal });
      if (verdict.ok) expect(verdict.discard).toBe(unwanted);
    }
  });

  test('accepts end just where the method has one and the half is open', () => {
    for (const { shape, state, event, verdict } of speaking.filter(({ event }) => event.frame === 'end')) {
      const { input, answer } = shapeOf(shape);
      const has = event.from === 'opener' ? input : answer === 'first' && state.answered;
      expect(verdict.ok).toBe(has && state[event.from].phase === 'open');
    }
  });

  test('accepts credit just for a stream of the peer, and drops it when that is finished', () => {
    for (const { shape, state, event, verdict } of speaking.filter(({ event }) => event.frame === 'window')) {
      const { input, output } = shapeOf(shape);
      const stream = event.from === 'acceptor' ? input : output !== 'none';
      const open = state[other(event.from)].phase === 'open';
      expect(verdict.ok).toBe(stream && (open || event.way === 'received'));
      if (verdict.ok) expect(verdict.discard).toBe(!open);
    }
  });

  test('never opens a half again, nor takes back a result', () => {
    for (const { state, verdict } of pairs) {
      if (!verdict.ok) continue;
      for (const role of ['opener', 'acceptor'] as const) {
        if (state[role].phase !== 'open') expect(verdict.state[role].phase).not.toBe('open');
      }
      if (state.answered) expect(verdict.state.answered).toBe(true);
    }
  });

  test('leaves a way to the end for a side that owes a reset', () => {
    for (const { state, side } of live.filter(({ state, side }) => owesReset(state, side))) {
      const verdict = advance(state, { from: side, way: 'sent', frame: 'reset', size: 0 });
      expect(verdict.ok && isOver(verdict.state)).toBe(true);
    }
  });
});

test('a sender never exceeds its credits, whatever the order of data and windows', () => {
  const step = fc.record({ frame: fc.constantFrom('data' as const, 'window' as const), size: fc.nat(3000) });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.array(step, { maxLength: 60 }), (initial, steps) => {
      let state: ChannelState = openChannel(shapeOf('file.write'), initial, 0);
      let granted = initial;
      let sent = 0;
      for (const { frame, size } of steps) {
        const from = frame === 'data' ? 'opener' : 'acceptor';
        const verdict = advance(state, { from, way: 'received', frame, size });
        const legal = frame === 'window' ? size > 0 : size > 0 && sent + size <= granted;
        expect(verdict.ok).toBe(legal);
        if (!verdict.ok) continue;
        if (frame === 'data') sent += size;
        else granted += size;
        state = verdict.state;
        expect(state.opener.credit).toBe(granted - sent);
      }
    }),
    { numRuns: 2000 },
  );
});

const one = (frame: ChannelEvent['frame'], size: number, from: ChannelEvent['from'] = 'opener'): ChannelEvent => ({
  from,
  way: 'received',
  frame,
  size,
});

test('credit beyond the largest window is refused', () => {
  const state = openChannel(shapeOf('file.write'), limits.windowMax - 1, 0);
  expect(advance(state, one('window', 1, 'acceptor')).ok).toBe(true);
  expect(violation(advance(state, one('window', 2, 'acceptor')))).toBe('window_overflow');
  expect(violation(advance(state, one('window', 0, 'acceptor')))).toBe('window_overflow');
  expect(violation(advance(state, one('window', 0xffff_ffff, 'acceptor')))).toBe('window_overflow');
});

test('data beyond the window is refused, and so is a record beyond its bound', () => {
  const write = openChannel(shapeOf('file.write'), 10, 0);
  expect(violation(advance(write, one('data', 11)))).toBe('window_exceeded');
  const list = openChannel(shapeOf('file.list'), 0, limits.windowInitial);
  expect(violation(advance(list, one('data', limits.recordMax + 1, 'acceptor')))).toBe('frame_too_large');
  expect(advance(list, one('data', limits.recordMax, 'acceptor')).ok).toBe(true);
});
