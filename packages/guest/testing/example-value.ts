import type { Field, MessageDef } from '../src/protocol/field.ts';
import { decodeName, encodeName } from '../src/protocol/raw-name.ts';

/** Fixed values of any message: `least` has only what must be there, at its lower bounds; `full` has everything. */
export type Extent = 'least' | 'full';

export function exampleValue(def: MessageDef, extent: Extent): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(def.fields)) {
    if (field.rule === 'repeated') value[key] = extent === 'least' ? [] : [one(field, 'least'), one(field, 'full')];
    else if (field.rule === 'required' || extent === 'full') value[key] = one(field, extent);
  }
  return value;
}

function one(field: Field, extent: Extent): unknown {
  const length = extent === 'least' ? field.min : Math.min(field.max, Math.max(field.min, 11));
  switch (field.kind) {
    case 'uint':
    case 'int':
      return extent === 'least' ? field.min : field.max;
    case 'bool':
      return extent === 'full';
    case 'choice':
      return Object.keys(field.choices ?? {}).at(extent === 'least' ? 0 : -1);
    case 'text':
      return 'é'.repeat(length >> 1) + 'x'.repeat(length & 1);
    case 'name':
      return decodeName(Buffer.alloc(length, 'caf\xe9', 'latin1'));
    case 'bytes':
      return Buffer.alloc(length, 0xa5);
    case 'message':
      return field.message === undefined ? undefined : exampleValue(field.message, extent);
  }
}

/** As JSON for a reader in C: bytes and names in hexadecimal, the rest as it is. */
export function toJson(def: MessageDef, value: Record<string, unknown>): Record<string, unknown> {
  const render = (field: Field, item: unknown): unknown => {
    if (field.kind === 'name') return { hex: encodeName(item as string).toString('hex') };
    if (field.kind === 'bytes') return { hex: Buffer.from(item as Uint8Array).toString('hex') };
    if (field.message !== undefined) return toJson(field.message, item as Record<string, unknown>);
    return item;
  };
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const field = def.fields[key];
    if (field === undefined) return [key, item];
    return [key, Array.isArray(item) ? item.map((each) => render(field, each)) : render(field, item)];
  });
  return Object.fromEntries(entries);
}
