import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { CaissonError } from '@caisson/contract';
import type { TracePlace } from './trace-parent.ts';

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** Something that took time, when it is over. */
export interface Span {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly seconds: number;
  /** The code of the error that it ended with. */
  readonly failed: string | undefined;
  /** Only where traces are kept. */
  readonly place?: (TracePlace & { readonly parent: string | undefined; readonly isEntry: boolean }) | undefined;
}

export interface SpanOptions {
  /** It comes from outside: its parent is what the caller says, and nothing that happens here. */
  readonly entry?: { readonly parent: TracePlace | undefined } | undefined;
}

/**
 * What takes time, told when it is over: to the metrics, and as a tree to whoever keeps traces. What begins within a span
 * is its child, through everything that is awaited. Where nobody keeps traces a span costs two looks at the clock.
 */
export class Spans {
  readonly #listeners: ((span: Span) => void)[] = [];
  readonly #here = new AsyncLocalStorage<TracePlace>();
  #isTraced = false;

  /** Whether somebody keeps traces. */
  get isTraced(): boolean {
    return this.#isTraced;
  }

  listen(listener: (span: Span) => void): void {
    this.#listeners.push(listener);
  }

  /** The same for somebody who needs to know what belongs to what. */
  trace(listener: (span: Span) => void): void {
    this.#isTraced = true;
    this.listen(listener);
  }

  /** Where this happens, for what goes on elsewhere. */
  get here(): TracePlace | undefined {
    return this.#here.getStore();
  }

  async run<T>(
    name: string,
    attributes: SpanAttributes,
    work: () => Promise<T>,
    options: SpanOptions = {},
  ): Promise<T> {
    const began = performance.now();
    const place = this.#isTraced ? this.#place(options) : undefined;
    let failed: string | undefined;
    try {
      return await (place ? this.#here.run(place, work) : work());
    } catch (error) {
      failed = error instanceof CaissonError ? error.code : 'internal';
      throw error;
    } finally {
      const seconds = (performance.now() - began) / 1000;
      // By one clock, so that a child never begins before its parent.
      const startedAt = performance.timeOrigin + began;
      for (const listener of this.#listeners) listener({ name, attributes, startedAt, seconds, failed, place });
    }
  }

  #place({ entry }: SpanOptions): NonNullable<Span['place']> {
    const parent = entry ? entry.parent : this.#here.getStore();
    return {
      trace: parent?.trace ?? randomBytes(16).toString('hex'),
      span: randomBytes(8).toString('hex'),
      parent: parent?.span,
      isEntry: entry !== undefined,
    };
  }
}
