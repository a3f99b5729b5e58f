import type { Capabilities } from '../driver.ts';

/** What every engine that speaks the Engine API gives a sandbox. */
export const engineCapabilities: Capabilities = {
  isolation: 'namespaces',
  storage: 'backend',
  pause: 'freeze',
  snapshots: 'filesystem',
  // The container has no network of its own: the guest carries whatever leaves it.
  networkModes: ['off', 'allowlist', 'open'],
  limits: ['cpus', 'memoryMiB', 'pids'],
  // An engine shifts the ids of all containers alike, or of none.
  userNamespace: false,
  readOnlyRoot: true,
  guest: true,
  halt: true,
  stats: true,
  meter: true,
  logs: true,
};

/** Those of one that limits the disk of a container too. */
export const allLimits: Capabilities['limits'] = [...engineCapabilities.limits, 'diskMiB'];
