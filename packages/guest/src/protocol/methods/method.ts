import { type MessageDef, message } from '../field.ts';

/**
 * A method as data: who opens it, what travels in each direction, where its result stands, and what a client does when
 * the connection is lost before the result.
 *
 * `answer` places the result in what the acceptor sends:
 * - `alone`: only the result. It finishes the acceptor's direction.
 * - `first`: result, then data, then end.
 * - `last`: data, then the result, which finishes the direction; there is no end.
 */
export type Answer = 'alone' | 'first' | 'last';

/**
 * What repeating a request does:
 * - `pure`: it changes nothing; repeat it.
 * - `named`: an id, offset or sequence in it lets the guest recognise the repetition; repeat it.
 * - `idempotent`: a repetition leads to the same state; repeat it.
 * - `atomic`: it happened wholly or not at all; look which, then repeat or not.
 * - `connection`: it lives and dies with the connection; begin anew.
 */
export type Repeat = 'pure' | 'named' | 'idempotent' | 'atomic' | 'connection';

export interface Shape {
  /** Whether the opener sends data; what it sends is always plain bytes. */
  readonly input: boolean;
  /** The acceptor's data: none, plain bytes whose frame boundaries mean nothing, or one record message a frame. */
  readonly output: 'none' | 'bytes' | 'records';
  readonly answer: Answer;
}

export interface Method extends Shape {
  readonly number: number;
  readonly opener: 'server' | 'guest';
  readonly params: MessageDef;
  readonly result: MessageDef;
  readonly record: MessageDef | undefined;
  readonly repeat: Repeat;
  readonly afterLoss: string;
  readonly about: string;
}

/** The result of a method that has nothing to say but that it is done. */
export const nothing = message('nothing', 'no fields', {});

const base = {
  opener: 'server',
  input: false,
  output: 'none',
  answer: 'alone',
  result: nothing,
  record: undefined,
} as const;

type Given = Pick<Method, 'number' | 'params' | 'repeat' | 'afterLoss' | 'about'> & Partial<Method>;

/** Fills in the plain case: the server asks, no data travels, the result says only that it is done. */
export function method<const M extends Given>(given: M): Omit<typeof base, keyof M> & M {
  return { ...base, ...given };
}
