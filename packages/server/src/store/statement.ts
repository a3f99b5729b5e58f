import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely';
import type { Queries } from './database.ts';

type Values<V> = { readonly [K in keyof V]: string | number | null };

/** Where a value goes that comes only with each execution. */
class Slot {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const slots = new Proxy({}, { get: (_, name) => new Slot(String(name)) });

/**
 * A statement whose text is made once for each open database: making it costs more than executing it.
 *
 * `build` puts each value in its place and does not look at it, because there is none yet: neither `values.name ?? null`
 * nor a spread does what it says. A comparison with a value that may be null is another text, and so another statement.
 */
export function statement<V extends Values<V>, Row>(
  build: (queries: Queries, values: V) => Compilable<Row>,
): (queries: Queries, values: V) => Promise<Row[]> {
  const compiled = new WeakMap<DialectAdapter, CompiledQuery<Row>>();
  return async (queries, values) => {
    const { adapter } = queries.getExecutor();
    const query = compiled.get(adapter) ?? build(queries, slots as V).compile();
    compiled.set(adapter, query);
    const parameters = query.parameters.map((value) => (value instanceof Slot ? values[value.name as keyof V] : value));
    return (await queries.executeQuery<Row>({ ...query, parameters })).rows;
  };
}
