/**
 * Which processors an instance is bound to: as many as it may use at most, so that what asks how many there are (`nproc`)
 * is told its own number; which ones is spread by its name. Undefined where that is all of them.
 */
export function boundProcessors(cpus: number, all: readonly number[], name: string): string | undefined {
  const count = Math.ceil(cpus);
  if (count >= all.length) return undefined;
  let hash = 0;
  for (const char of name) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  const chosen = Array.from({ length: count }, (_, i) => all[(hash + i) % all.length] ?? 0);
  return chosen.sort((a, b) => a - b).join(',');
}
