/**
 * How many entries a field may have, beyond the general bound on lists. Each entry costs something downstream, and a
 * step or input grows when its defaults are written out: these keep every blueprint within the bounds of a spec, so
 * that it can be entered again.
 */
export const maxSteps = 256;
export const maxInputs = 64;

/** Environments and labels are copied into every instance; more entries than these are data, not settings. */
export const maxEnvEntries = 512;
export const maxLabels = 64;

/** Each is looked for in every request on its way out. */
export const maxEgressSecrets = 100;
