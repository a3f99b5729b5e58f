import { type ProfileInput, profileRef, type ResolvedProfile } from '@caisson/contract';
import { pairs, table } from './table.ts';

/** What it is, what it asks for, and the rest as it was written. */
export function profileText(profile: ResolvedProfile): string {
  const { name, version, description, inputs = {}, lineage, ...rest } = profile;
  const head = pairs([
    ['profile', profileRef({ name, version })],
    ['description', description ?? '-'],
    ['extends', lineage.filter((ref) => ref !== profileRef({ name, version })).join(' → ') || '-'],
    ...Object.entries(rest).map(([field, value]): [string, string] => [field, JSON.stringify(value)]),
  ]);
  const asked = Object.entries(inputs);
  if (asked.length === 0) return head;
  const rows = asked.map(([input, given]) => [input, given.type, needOf(given), given.description ?? '']);
  return [head, '', table(['INPUT', 'TYPE', 'VALUE', 'DESCRIPTION'], rows)].join('\n');
}

function needOf(input: ProfileInput): string {
  const choices = input.type === 'string' && input.choices ? ` of ${input.choices.join(', ')}` : '';
  if (input.default !== undefined) return `${JSON.stringify(input.default)}${choices}`;
  return `${input.required ? 'required' : 'optional'}${choices}`;
}
