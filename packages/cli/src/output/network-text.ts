import type { NetworkPreset, SandboxNetwork } from '@caisson/contract';
import { pairs, table } from './table.ts';

/** The rules of a sandbox, one entry a line. */
export function networkText({ mode, allow, deny, limits, secrets, revision }: SandboxNetwork): string {
  const limitTexts = Object.entries(limits).map(([name, value]) => `${name} ${value}`);
  return pairs([
    ['mode', mode],
    ...lines('allow', allow),
    ...lines('deny', deny),
    ...lines('limits', limitTexts),
    ...lines('secrets', secrets),
    ['revision', revision === 0 ? '0 (as it was made)' : String(revision)],
  ]);
}

/** Where a list of what is allowed does less than who writes it may think. */
export function modeNote(mode: SandboxNetwork['mode'], ref: string): string | undefined {
  const set = `\`caisson network set ${ref} --mode allowlist\``;
  if (mode === 'off') return `its network is off, whatever is listed; ${set} lets the list count`;
  if (mode === 'open')
    return `its network is open: everything public that is not denied is allowed; ${set} changes that`;
  return undefined;
}

export function presetTable(items: readonly NetworkPreset[]): string {
  return table(
    ['PRESET', 'STANDS FOR', 'ENTRIES'],
    items.map(({ name, description, entries }) => [name, description, entries.join(' ')]),
  );
}

function lines(name: string, values: readonly string[]): [string, string][] {
  if (values.length === 0) return [[name, '-']];
  return values.map((value, index) => [index === 0 ? name : '', value]);
}
