import { CaissonError } from '@caisson/contract';

/**
 * One word for a POSIX shell, whatever is in the text: no character but the single quote means anything between single
 * quotes. The only text that a shell cannot carry is one with a NUL.
 */
export function shellQuote(text: string): string {
  if (text.includes('\0')) throw new CaissonError('spec_invalid', 'a text for a command contains a NUL character');
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text) && !text.startsWith('=')) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function shellWords(words: readonly string[]): string {
  return words.map(shellQuote).join(' ');
}
