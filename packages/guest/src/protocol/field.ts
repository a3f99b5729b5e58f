/**
 * Messages as data. A definition is a name and its fields; from it come the codec, the TypeScript type, the tables in
 * PROTOCOL.md and the C header, so that none of them can disagree.
 *
 *     const greeting = message('greeting', 'an example', {
 *       text: text(1, 100, 'what to say'),
 *       times: optional(uint(2, 10, 'how often; once when absent')),
 *     });
 *     type Greeting = Value<typeof greeting>; // { text: string; times?: number }
 */
export const wireTypes = { uint: 1, int: 2, bool: 3, text: 4, bytes: 5, message: 6 } as const;

/** `name` is bytes on the wire and a lossless string here (`raw-name.ts`); `choice` is a uint on the wire. */
export type Kind = keyof typeof wireTypes | 'name' | 'choice';
export type Rule = 'required' | 'optional' | 'repeated';

declare const valueType: unique symbol;

export interface Field<T = unknown, R extends Rule = Rule> {
  readonly tag: number;
  readonly kind: Kind;
  readonly rule: R;
  /** Bounds of the value of an integer, of the length in bytes of anything else. */
  readonly min: number;
  readonly max: number;
  readonly maxItems: number;
  /** A receiver that does not know this tag must refuse the message instead of skipping the field. */
  readonly critical: boolean;
  readonly choices: Readonly<Record<string, number>> | undefined;
  readonly message: MessageDef | undefined;
  readonly about: string;
  readonly [valueType]?: T;
}

export type Fields = Readonly<Record<string, Field>>;

export interface MessageDef<F extends Fields = Fields> {
  readonly name: string;
  readonly about: string;
  readonly fields: F;
  readonly byTag: ReadonlyMap<number, { readonly key: string; readonly field: Field }>;
}

type KeysWith<F extends Fields, R extends Rule> = { [K in keyof F]: F[K]['rule'] extends R ? K : never }[keyof F];
type ValueOf<X> = X extends Field<infer T> ? T : never;
type Flat<T> = { [K in keyof T]: T[K] };

/** The TypeScript type of a message. A repeated field is always there, possibly empty. */
export type Value<D extends MessageDef> = Flat<
  { readonly [K in KeysWith<D['fields'], 'required'>]: ValueOf<D['fields'][K]> } & {
    readonly [K in KeysWith<D['fields'], 'optional'>]?: ValueOf<D['fields'][K]>;
  } & { readonly [K in KeysWith<D['fields'], 'repeated'>]: readonly ValueOf<D['fields'][K]>[] }
>;

export function message<const F extends Fields>(name: string, about: string, fields: F): MessageDef<F> {
  const byTag = new Map(Object.entries(fields).map(([key, field]) => [field.tag, { key, field }] as const));
  if (byTag.size !== Object.keys(fields).length) throw new Error(`${name} uses a tag twice`);
  return { name, about, fields, byTag };
}

function field<T>(kind: Kind, tag: number, min: number, max: number, about: string): Field<T, 'required'> {
  return {
    tag,
    kind,
    rule: 'required',
    min,
    max,
    maxItems: 1,
    critical: false,
    choices: undefined,
    message: undefined,
    about,
  };
}

/** Integers stay within what a JavaScript number holds exactly: 2^53 - 1 either way. */
export const uint = (tag: number, max: number, about: string, min = 0) => field<number>('uint', tag, min, max, about);
export const int = (tag: number, min: number, max: number, about: string) => field<number>('int', tag, min, max, about);
export const bool = (tag: number, about: string) => field<boolean>('bool', tag, 0, 1, about);
export const text = (tag: number, max: number, about: string, min = 0) => field<string>('text', tag, min, max, about);
export const name = (tag: number, max: number, about: string, min = 0) => field<string>('name', tag, min, max, about);
export const bytes = (tag: number, max: number, about: string, min = 0) =>
  field<Uint8Array>('bytes', tag, min, max, about);

export function choice<const C extends Readonly<Record<string, number>>>(
  tag: number,
  choices: C,
  about: string,
): Field<keyof C & string, 'required'> {
  const numbers = Object.values(choices);
  const base = field<keyof C & string>('choice', tag, Math.min(...numbers), Math.max(...numbers), about);
  return { ...base, choices };
}

export function nested<D extends MessageDef>(
  tag: number,
  def: D,
  max: number,
  about: string,
): Field<Value<D>, 'required'> {
  return { ...field<Value<D>>('message', tag, 0, max, about), message: def };
}

export function optional<T>(of: Field<T, 'required'>): Field<T, 'optional'> {
  return { ...of, rule: 'optional' };
}

export function repeated<T>(of: Field<T, 'required'>, maxItems: number): Field<T, 'repeated'> {
  return { ...of, rule: 'repeated', maxItems };
}

export function critical<T, R extends Rule>(of: Field<T, R>): Field<T, R> {
  return { ...of, critical: true };
}

export function wireTypeOf(kind: Kind): number {
  if (kind === 'name') return wireTypes.bytes;
  return kind === 'choice' ? wireTypes.uint : wireTypes[kind];
}
