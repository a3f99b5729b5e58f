import { isUtf8 } from 'node:buffer';
import { CaissonError, maxEditBytes } from '@caisson/contract';
import type { Entry, GuestClient } from '@caisson/guest';

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly all: boolean;
}

/** Edits of one file go one after the other; otherwise the later write would undo the earlier one. */
const turns = new WeakMap<GuestClient, Map<string, Promise<unknown>>>();

/** Replaces exact pieces of text, each in what the one before made of the file: all of them, or nothing is written. */
export async function editFile(
  guest: GuestClient,
  path: string,
  edits: readonly Edit[],
  user: string | undefined,
): Promise<{ entry: Entry; replaced: number }> {
  return await inTurn(guest, `${user ?? ''}:${path}`, async () => {
    const bytes = await guest.files.readAll(path, { user, maxBytes: maxEditBytes });
    if (!isUtf8(bytes)) throw new CaissonError('file_invalid', `${path} is not text in UTF-8`, { context: { path } });
    const { text, replaced } = applyEdits(path, bytes.toString('utf8'), edits);
    if (Buffer.byteLength(text) > maxEditBytes) {
      throw new CaissonError('file_invalid', `${path} would be larger than ${maxEditBytes} bytes`);
    }
    return { entry: await guest.files.write(path, text, { user }), replaced };
  });
}

export function applyEdits(
  path: string,
  original: string,
  edits: readonly Edit[],
): { readonly text: string; readonly replaced: number } {
  let text = original;
  let replaced = 0;
  for (const [index, { oldText, newText, all }] of edits.entries()) {
    const first = text.indexOf(oldText);
    const refuse = (what: string) => {
      throw new CaissonError('edit_conflict', `${path}: the text of edit ${index + 1} ${what}`, {
        context: { path, edit: index },
      });
    };
    if (first === -1) refuse('is not there');
    if (all) {
      const parts = text.split(oldText);
      const count = parts.length - 1;
      // Told before it is made: a short text that is there a million times could fill the memory.
      if (text.length + count * (newText.length - oldText.length) > maxEditBytes) refuse('makes the file too large');
      replaced += count;
      text = parts.join(newText);
    } else {
      if (text.indexOf(oldText, first + 1) !== -1) refuse('is there more than once');
      replaced += 1;
      text = text.slice(0, first) + newText + text.slice(first + oldText.length);
    }
  }
  return { text, replaced };
}

async function inTurn<T>(guest: GuestClient, key: string, work: () => Promise<T>): Promise<T> {
  const waiting = turns.get(guest) ?? new Map<string, Promise<unknown>>();
  turns.set(guest, waiting);
  const mine = (waiting.get(key) ?? Promise.resolve()).then(work, work);
  waiting.set(key, mine);
  try {
    return await mine;
  } finally {
    if (waiting.get(key) === mine) waiting.delete(key);
  }
}
