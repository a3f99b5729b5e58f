import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../errors/table.ts';
import { type ActionName, actionNames, actions, type UseName, useNames } from './actions.ts';
import { isTransient, type SandboxState, sandboxStates, stableStates, transientStates } from './states.ts';
import { canBegin, canUse, refusal, type Standing, type Step, transition } from './transition.ts';

/**
 * Written out by hand on purpose: a change of the table must be said twice. Every state lists the actions that may begin
 * in it; all others are refused with the code beside it.
 */
const expected: Record<SandboxState, { begins: ActionName[]; uses: UseName[]; refuses: ErrorCode }> = {
  requested: { begins: ['create', 'destroy'], uses: ['extend'], refuses: 'sandbox_not_ready' },
  building: { begins: ['destroy'], uses: ['extend'], refuses: 'sandbox_not_ready' },
  provisioning: { begins: ['destroy'], uses: ['extend'], refuses: 'sandbox_not_ready' },
  ready: {
    begins: ['recreate', 'pause', 'rollback', 'stop', 'destroy', 'lose'],
    uses: ['exec', 'snapshot', 'fork', 'extend', 'configure'],
    refuses: 'invalid_state',
  },
  pausing: { begins: ['destroy'], uses: [], refuses: 'sandbox_paused' },
  paused: {
    begins: ['recreate', 'resume', 'rollback', 'stop', 'destroy', 'lose'],
    uses: ['snapshot', 'fork', 'extend', 'configure'],
    refuses: 'sandbox_paused',
  },
  resuming: { begins: ['destroy'], uses: [], refuses: 'sandbox_not_ready' },
  rolling_back: { begins: ['destroy'], uses: [], refuses: 'rollback_in_progress' },
  stopping: { begins: ['destroy'], uses: [], refuses: 'sandbox_stopped' },
  stopped: {
    begins: ['recreate', 'start', 'destroy'],
    uses: ['snapshot', 'extend', 'configure'],
    refuses: 'sandbox_stopped',
  },
  starting: { begins: ['destroy'], uses: [], refuses: 'sandbox_not_ready' },
  failed: { begins: ['recreate', 'rollback', 'start', 'destroy'], uses: [], refuses: 'sandbox_failed' },
  destroying: { begins: [], uses: [], refuses: 'sandbox_destroying' },
  destroyed: { begins: [], uses: [], refuses: 'sandbox_destroyed' },
};

const ends: Record<ActionName, { success: SandboxState; failure: SandboxState }> = {
  create: { success: 'ready', failure: 'failed' },
  recreate: { success: 'ready', failure: 'failed' },
  pause: { success: 'paused', failure: 'ready' },
  resume: { success: 'ready', failure: 'paused' },
  rollback: { success: 'ready', failure: 'failed' },
  stop: { success: 'stopped', failure: 'failed' },
  start: { success: 'ready', failure: 'stopped' },
  destroy: { success: 'destroyed', failure: 'failed' },
  lose: { success: 'failed', failure: 'failed' },
};

/** A standing in the given state: a transient one is always that of some action. */
function standingsIn(state: SandboxState): Standing[] {
  if (!isTransient(state)) return [{ state, action: null }];
  const owners = actionNames.filter((name) => (actions[name].via as readonly string[]).includes(state));
  return owners.map((action) => ({ state, action }));
}

function beginning(action: ActionName): Step {
  const [first] = actions[action].via;
  return first === undefined ? { action, end: 'success' } : { action, enter: first };
}

describe.each(sandboxStates)('in state %s', (state) => {
  test.each(actionNames)('%s begins or is refused as the matrix says', (action) => {
    const allowed = expected[state].begins.includes(action);
    expect(canBegin(action, state)).toBe(allowed);
    for (const standing of standingsIn(state).filter((candidate) => candidate.action !== action)) {
      const answer = transition(standing, beginning(action));
      if (allowed) expect(answer).toMatchObject({ ok: true, interrupts: standing.action });
      else expect(answer).toEqual({ ok: false, code: expected[state].refuses });
    }
  });

  test.each(useNames)('using it for %s is allowed or refused as the matrix says', (use) => {
    expect(canUse(use, state)).toBe(expected[state].uses.includes(use));
    expect(refusal(state)).toBe(expected[state].refuses);
  });
});

describe.each(actionNames)('%s', (name) => {
  const { via, from } = actions[name];

  test('passes its transient states in order and ends where the table says', () => {
    for (const outcome of ['success', 'failure'] as const) {
      let standing: Standing = { state: from[0], action: null };
      for (const enter of via) {
        const entered = transition(standing, { action: name, enter });
        if (!entered.ok) throw new Error(`cannot enter ${enter}: ${entered.code}`);
        expect(entered.standing).toEqual({ state: enter, action: name });
        standing = entered.standing;
      }
      expect(transition(standing, { action: name, end: outcome })).toEqual({
        ok: true,
        standing: { state: ends[name][outcome], action: null },
        interrupts: null,
      });
    }
  });

  test('cannot end before it began, nor while another action runs', () => {
    if (via.length === 0)
      return expect(transition({ state: 'stopped', action: null }, { action: name, end: 'success' }).ok).toBe(false);
    for (const state of sandboxStates) {
      for (const standing of standingsIn(state).filter((candidate) => candidate.action !== name)) {
        for (const end of ['success', 'failure'] as const) {
          expect(transition(standing, { action: name, end })).toEqual({ ok: false, code: expected[state].refuses });
        }
      }
    }
  });

  test('enters no transient state of another action', () => {
    const foreign = transientStates.filter((state) => !(via as readonly string[]).includes(state));
    for (const enter of foreign)
      expect(transition({ state: from[0], action: null }, { action: name, enter }).ok).toBe(false);
  });
});

test('create may skip building, but not go back to it nor succeed from it', () => {
  const skipped = transition({ state: 'requested', action: null }, { action: 'create', enter: 'provisioning' });
  expect(skipped).toMatchObject({ ok: true, standing: { state: 'provisioning', action: 'create' } });
  const back = transition({ state: 'provisioning', action: 'create' }, { action: 'create', enter: 'building' });
  expect(back).toEqual({ ok: false, code: 'sandbox_not_ready' });
  const early = transition({ state: 'building', action: 'create' }, { action: 'create', end: 'success' });
  expect(early).toEqual({ ok: false, code: 'sandbox_not_ready' });
  const failed = transition({ state: 'building', action: 'create' }, { action: 'create', end: 'failure' });
  expect(failed).toMatchObject({ ok: true, standing: { state: 'failed', action: null } });
});

test('destroy names the action that it interrupts', () => {
  const answer = transition({ state: 'rolling_back', action: 'rollback' }, { action: 'destroy', enter: 'destroying' });
  expect(answer).toMatchObject({ ok: true, interrupts: 'rollback' });
});

test('whatever steps are tried, a stable state has no action and a transient one has', () => {
  const step: fc.Arbitrary<Step> = fc.constantFrom(...actionNames).chain((action) =>
    fc.oneof(
      fc.constantFrom(...transientStates).map((enter) => ({ action, enter })),
      fc.constantFrom('success' as const, 'failure' as const).map((end) => ({ action, end })),
    ),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let standing: Standing = { state: 'requested', action: null };
      for (const next of steps) {
        const answer = transition(standing, next);
        if (answer.ok) standing = answer.standing;
        expect(isTransient(standing.state)).toBe(standing.action !== null);
        if (standing.action !== null) expect(actions[standing.action].via).toContain(standing.state);
      }
    }),
    { numRuns: 2000 },
  );
});

test('every stable state but destroyed has a way out, and every state leads to destroyed', () => {
  for (const state of stableStates) expect(expected[state].begins.length > 0).toBe(state !== 'destroyed');
  for (const state of sandboxStates) {
    if (state !== 'destroyed' && state !== 'destroying') expect(canBegin('destroy', state)).toBe(true);
  }
});
