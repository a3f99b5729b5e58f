import { CaissonError } from '@caisson/contract';
import { piecesOf } from './raw-call.ts';
import type { FetchAnswer } from './transport.ts';

/** A line that is longer is none of ours. */
const maxLine = 100_000;

/** The values of an answer that has one on each line. */
export async function* jsonLines<T>(response: FetchAnswer): AsyncGenerator<T, void, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of piecesOf(response)) {
    text += decoder.decode(piece, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as T;
    if (text.length > maxLine) throw new CaissonError('server_unreachable', 'the answer has a line without end');
  }
  // The last line ends too: what is left is a part of one.
  if (text !== '') throw new CaissonError('server_unreachable', 'the answer broke off');
}
