/**
 * The states of a sandbox. `stopped because expired` is a reason, not a state.
 *
 * A sandbox rests in a stable state; a transient one is always the `via` of the action that its record names as running.
 * No record is left in a transient state: the action ends, or the reconciler ends it.
 */
export const stableStates = ['requested', 'ready', 'paused', 'stopped', 'failed', 'destroyed'] as const;
export const transientStates = [
  'building',
  'provisioning',
  'pausing',
  'resuming',
  'rolling_back',
  'stopping',
  'starting',
  'destroying',
] as const;
export const sandboxStates = [...stableStates, ...transientStates] as const;

export type StableState = (typeof stableStates)[number];
export type TransientState = (typeof transientStates)[number];
export type SandboxState = (typeof sandboxStates)[number];

export const stateMeanings: Record<SandboxState, string> = {
  requested: 'accepted and recorded; nothing exists yet',
  building: 'its image is being built or fetched',
  provisioning: 'a driver is making the instance and waits for its guest',
  ready: 'its guest answers; it can be used',
  pausing: 'running tools are drained, then its processes are frozen',
  paused: 'frozen; it holds its memory and uses no processor',
  resuming: 'its processes are being thawed',
  rolling_back: 'its filesystem is being put back to a snapshot',
  stopping: 'its processes are being ended',
  stopped: 'no process runs; the record remains, and the filesystem where it is persistent',
  starting: 'a stopped sandbox is being launched again',
  destroying: 'everything it has is being removed',
  destroyed: 'nothing of it remains but the record and its events',
  failed: 'an action failed or the instance was lost; the reason is in the record',
};

export function isTransient(state: SandboxState): state is TransientState {
  return (transientStates as readonly string[]).includes(state);
}
