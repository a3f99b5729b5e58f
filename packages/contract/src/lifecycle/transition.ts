import type { ErrorCode } from '../errors/table.ts';
import { type Action, type ActionName, actions, type UseName, uses } from './actions.ts';
import { isTransient, type SandboxState, type TransientState } from './states.ts';

/** Where a sandbox stands: its state and, in a transient one, the action that put it there. */
export interface Standing {
  readonly state: SandboxState;
  readonly action: ActionName | null;
}

/** One step of an action: it enters one of its `via` states, succeeds, or fails. */
export type Step =
  | { readonly action: ActionName; readonly enter: TransientState }
  | { readonly action: ActionName; readonly end: 'success' | 'failure' };

export type Transition =
  | { readonly ok: true; readonly standing: Standing; readonly interrupts: ActionName | null }
  | { readonly ok: false; readonly code: ErrorCode };

/**
 * The only way from one state to another. Pure; the store applies its answer as one compare-and-set together with the
 * event that tells of it.
 */
export function transition(now: Standing, step: Step): Transition {
  const action: Action = actions[step.action];
  const running = now.action === step.action && isTransient(now.state) ? action.via.indexOf(now.state) : -1;
  return 'enter' in step ? enter(now, step.action, action, running, step.enter) : end(now, action, running, step.end);
}

function enter(now: Standing, name: ActionName, action: Action, running: number, target: TransientState): Transition {
  const position = action.via.indexOf(target);
  if (position < 0) return refuse(now.state);
  if (running >= 0) {
    return position > running ? arrive({ state: target, action: name }) : refuse(now.state);
  }
  if (!action.from.includes(now.state)) return refuse(now.state);
  return arrive({ state: target, action: name }, isTransient(now.state) ? now.action : null);
}

function end(now: Standing, action: Action, running: number, outcome: 'success' | 'failure'): Transition {
  const instant = action.via.length === 0;
  const atLastStep = running === action.via.length - 1;
  const mayEnd = instant ? action.from.includes(now.state) : running >= 0 && (outcome === 'failure' || atLastStep);
  if (!mayEnd) return refuse(now.state);
  return arrive({ state: outcome === 'success' ? action.to : action.onFailure, action: null });
}

function arrive(standing: Standing, interrupts: ActionName | null = null): Transition {
  return { ok: true, standing, interrupts };
}

function refuse(state: SandboxState): Transition {
  return { ok: false, code: refusal(state) };
}

/** May the action begin here? */
export function canBegin(action: ActionName, state: SandboxState): boolean {
  return (actions[action].from as readonly SandboxState[]).includes(state);
}

/** May the sandbox be used like this here? */
export function canUse(use: UseName, state: SandboxState): boolean {
  return (uses[use].in as readonly SandboxState[]).includes(state);
}

/** The code with which a state refuses what it does not allow: it tells the caller what the sandbox is doing instead. */
export function refusal(state: SandboxState): ErrorCode {
  switch (state) {
    case 'destroyed':
      return 'sandbox_destroyed';
    case 'destroying':
      return 'sandbox_destroying';
    case 'rolling_back':
      return 'rollback_in_progress';
    case 'paused':
    case 'pausing':
      return 'sandbox_paused';
    case 'stopped':
    case 'stopping':
      return 'sandbox_stopped';
    case 'failed':
      return 'sandbox_failed';
    case 'requested':
    case 'building':
    case 'provisioning':
    case 'resuming':
    case 'starting':
      return 'sandbox_not_ready';
    case 'ready':
      return 'invalid_state';
  }
}
