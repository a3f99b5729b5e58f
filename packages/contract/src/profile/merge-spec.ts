/**
 * Merging of specs as they were written, before normalization: a profile's under a caller's.
 *
 * Laws
 * - The upper spec wins. A field that it sets in any of its spellings hides the lower spec's, in every spelling; so the
 *   result never has an alias conflict that neither of the two had.
 * - Maps (`env`, labels, network, resources, customization) merge key by key. `packages` add up, and the upper spec's
 *   version of a package wins. Every other list is replaced.
 */
type Spec = Readonly<Record<string, unknown>>;

type Merge = 'replace' | 'by-key' | 'add-packages';

/** The fields that have more than one spelling, and how they merge. */
const spellings: readonly { readonly paths: readonly (readonly string[])[]; readonly merge: Merge }[] = [
  { paths: [['source'], ['repo'], ['sources', 'workspace']], merge: 'replace' },
  { paths: [['inputs'], ['sources', 'inputs']], merge: 'replace' },
  { paths: [['ssh'], ['access', 'ssh']], merge: 'replace' },
  { paths: [['packages'], ['tooling', 'packages']], merge: 'add-packages' },
  { paths: [['setup'], ['lifecycle', 'setup']], merge: 'replace' },
  { paths: [['startup'], ['lifecycle', 'startup']], merge: 'replace' },
  { paths: [['env'], ['runtime', 'env']], merge: 'by-key' },
  { paths: [['os'], ['target', 'os']], merge: 'replace' },
];

export function mergeSpecs(lower: Spec, upper: Spec): Record<string, unknown> {
  let below: Spec = lower;
  let above: Spec = upper;
  for (const { paths, merge } of spellings) {
    const low = paths.find((path) => read(below, path) !== undefined);
    const high = paths.find((path) => read(above, path) !== undefined);
    if (low === undefined || high === undefined) continue;
    const merged = mergeField(merge, read(below, low), read(above, high));
    for (const path of paths) below = without(below, path);
    above = withValue(above, high, merged);
  }
  return mergeMaps(below, above);
}

function mergeField(merge: Merge, low: unknown, high: unknown): unknown {
  if (merge === 'by-key' && isMap(low) && isMap(high)) return mergeMaps(low, high);
  if (merge === 'add-packages') return addPackages(low, high);
  return high;
}

/** Anything that is not a list of packages is left as it is: normalization says what is wrong with it. */
function addPackages(low: unknown, high: unknown): unknown {
  const lows = typeof low === 'string' ? [low] : low;
  const highs = typeof high === 'string' ? [high] : high;
  if (!Array.isArray(lows) || !Array.isArray(highs)) return high;
  const named = new Set(highs.map(packageId));
  return [...lows.filter((entry) => !named.has(packageId(entry))), ...highs];
}

function packageId(entry: unknown): unknown {
  if (isMap(entry)) return entry.id;
  if (typeof entry !== 'string') return entry;
  const at = entry.lastIndexOf('@');
  return at > 0 ? entry.slice(0, at) : entry;
}

function mergeMaps(low: Spec, high: Spec): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...low };
  for (const [key, value] of Object.entries(high)) {
    const beneath = Object.hasOwn(merged, key) ? merged[key] : undefined;
    merged[key] = isMap(beneath) && isMap(value) ? mergeMaps(beneath, value) : value;
  }
  return merged;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function read(spec: Spec, path: readonly string[]): unknown {
  let value: unknown = spec;
  for (const key of path) value = isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function without(spec: Spec, [key = '', ...rest]: readonly string[]): Spec {
  if (!Object.hasOwn(spec, key)) return spec;
  const { [key]: value, ...others } = spec;
  if (rest.length === 0) return others;
  return isMap(value) ? { ...others, [key]: without(value, rest) } : spec;
}

function withValue(spec: Spec, [key = '', ...rest]: readonly string[], value: unknown): Spec {
  if (rest.length === 0) return { ...spec, [key]: value };
  const inner = spec[key];
  return { ...spec, [key]: withValue(isMap(inner) ? inner : {}, rest, value) };
}
