import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newId } from '../ids.ts';
import { actionNames } from '../lifecycle/actions.ts';
import { type SandboxState, sandboxStates, transientStates } from '../lifecycle/states.ts';
import { type Standing, type Step, transition } from '../lifecycle/transition.ts';
import { localOwner } from '../owner.ts';
import { type CaissonEvent, eventSchema, eventTypes, replay, stateEventType } from './event.ts';

function stateEvent(sequence: number, from: SandboxState | null, now: Standing): CaissonEvent {
  return {
    specversion: '1.0',
    id: newId('event'),
    source: '/caisson/test',
    type: stateEventType(now.state),
    subject: newId('sandbox'),
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    sequence,
    position: sequence,
    tenant: 'local',
    project: 'default',
    data: { from, to: now.state, action: now.action, cause: null, incarnation: 1, owner: localOwner, reason: null },
  };
}

test('there is a type for every state, and its name obeys CloudEvents', () => {
  for (const state of sandboxStates) expect(Object.keys(eventTypes)).toContain(`caisson.sandbox.${state}`);
  const attributes = Object.keys(eventSchema.shape);
  for (const attribute of attributes) expect(attribute).toMatch(/^[a-z0-9]{1,20}$/);
});

test('replaying the events of any legal history gives the standing it ended in', () => {
  const step: fc.Arbitrary<Step> = fc.constantFrom(...actionNames).chain((action) =>
    fc.oneof(
      fc.constantFrom(...transientStates).map((enter) => ({ action, enter })),
      fc.constantFrom('success' as const, 'failure' as const).map((end) => ({ action, end })),
    ),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      let standing: Standing = { state: 'requested', action: null };
      const log = [stateEvent(1, null, standing)];
      for (const next of steps) {
        const answer = transition(standing, next);
        if (!answer.ok) continue;
        log.push(stateEvent(log.length + 1, standing.state, answer.standing));
        standing = answer.standing;
      }
      for (const event of log) eventSchema.parse(event);
      expect(replay(log)).toEqual(standing);
    }),
  );
});

test('a log with a gap, a jump or a wrong type does not replay', () => {
  const requested = stateEvent(1, null, { state: 'requested', action: null });
  const ready = stateEvent(2, 'provisioning', { state: 'ready', action: null });
  expect(() => replay([requested, ready])).toThrow(/leaves provisioning/);
  expect(() => replay([requested, { ...ready, sequence: 3 }])).toThrow(/follows 1/);
  expect(() => replay([{ ...requested, type: 'caisson.sandbox.ready' }])).toThrow(/caisson.sandbox.ready to requested/);
  expect(replay([])).toBeNull();
});
