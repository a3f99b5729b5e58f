import type { SandboxState, StableState, TransientState } from './states.ts';
import { transientStates } from './states.ts';

/**
 * The action table: what may be done to a sandbox, from where, and where it leads.
 *
 * Vocabulary
 * - `from`: the states in which the action may begin. Every other state refuses it.
 * - `via`: the transient states it passes, in order. A leading one may be left out (`create` without a build enters
 *   `provisioning` at once); none is entered twice. An empty `via` is an action that takes no time.
 * - `to`: where it ends when it succeeds.
 * - `onFailure`: where it ends when it does not.
 *
 * Laws
 * - Guards, tests, the diagram in docs/lifecycle.md and the buttons of a UI come from this table and from nowhere else.
 * - `destroy` begins in every state but `destroying` and `destroyed`: whatever hangs can be destroyed, and the action
 *   that it interrupts ends with the error `action_cancelled`.
 * - `lose` is what the reconciler does when the instance is gone. Nobody can ask for it.
 * - `recreate` keeps the id and raises `incarnation`; no other action changes it.
 *
 * Example: `pause` of a `ready` sandbox enters `pausing`; if draining fails it is `ready` again, else `paused`.
 */
export interface Action {
  readonly from: readonly SandboxState[];
  readonly via: readonly TransientState[];
  readonly to: StableState;
  readonly onFailure: StableState;
  /** Who may begin it: somebody through the API, or Caisson alone. */
  readonly by: 'anyone' | 'caisson';
  readonly summary: string;
}

const beforeDestroying = transientStates.filter((state) => state !== 'destroying');

export const actions = {
  create: {
    from: ['requested'],
    via: ['building', 'provisioning'],
    to: 'ready',
    onFailure: 'failed',
    by: 'caisson',
    summary: 'build or find its image, launch it, wait for its guest',
  },
  recreate: {
    from: ['ready', 'paused', 'stopped', 'failed'],
    via: ['building', 'provisioning'],
    to: 'ready',
    onFailure: 'failed',
    by: 'anyone',
    summary: 'replace the instance by a new one of the same spec; the id stays, the incarnation rises',
  },
  pause: {
    from: ['ready'],
    via: ['pausing'],
    to: 'paused',
    onFailure: 'ready',
    by: 'anyone',
    summary: 'drain running tools, then freeze every process',
  },
  resume: {
    from: ['paused'],
    via: ['resuming'],
    to: 'ready',
    onFailure: 'paused',
    by: 'anyone',
    summary: 'thaw every process',
  },
  rollback: {
    from: ['ready', 'paused', 'failed'],
    via: ['rolling_back'],
    to: 'ready',
    onFailure: 'failed',
    by: 'anyone',
    summary: 'put the filesystem back to a snapshot; running processes end',
  },
  stop: {
    from: ['ready', 'paused'],
    via: ['stopping'],
    to: 'stopped',
    onFailure: 'failed',
    by: 'anyone',
    summary: 'end every process; keep the filesystem where it is persistent',
  },
  start: {
    from: ['stopped', 'failed'],
    via: ['starting'],
    to: 'ready',
    onFailure: 'stopped',
    by: 'anyone',
    summary: 'launch it again, from its filesystem where it is persistent, else from its image',
  },
  destroy: {
    from: ['requested', 'ready', 'paused', 'stopped', 'failed', ...beforeDestroying],
    via: ['destroying'],
    to: 'destroyed',
    onFailure: 'failed',
    by: 'anyone',
    summary: 'remove everything it has; the record and its events remain',
  },
  lose: {
    from: ['ready', 'paused'],
    via: [],
    to: 'failed',
    onFailure: 'failed',
    by: 'caisson',
    summary: 'record that the instance is gone, and why',
  },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof actions;
export const actionNames = Object.keys(actions) as ActionName[];

/**
 * What can be done *with* a sandbox without changing its state, and in which states. The same laws hold: a state that
 * is not listed refuses, with the code that `refusal` gives.
 */
export const uses = {
  exec: { in: ['ready'], summary: 'run commands, reach files, ports and tools' },
  snapshot: { in: ['ready', 'paused', 'stopped'], summary: 'keep its filesystem as a snapshot' },
  fork: { in: ['ready', 'paused'], summary: 'make new sandboxes from it' },
  extend: {
    in: ['requested', 'building', 'provisioning', 'ready', 'paused', 'stopped'],
    summary: 'lengthen its lease',
  },
  configure: { in: ['ready', 'paused', 'stopped'], summary: 'change its labels, network rules and ports' },
} as const satisfies Record<string, { in: readonly SandboxState[]; summary: string }>;

export type UseName = keyof typeof uses;
export const useNames = Object.keys(uses) as UseName[];
