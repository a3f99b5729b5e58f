import type { Fault } from './problems.ts';
import { quote } from './quote.ts';
import type { TextRule } from './text.ts';

/** What git itself refuses in a ref, and a leading `-`, which git would read as an option. */
const forbidden = /^[-/.]|\.\.|\/\/|\/\.|@\{|[\s~^:?*[\\]|[/.]$|\.lock(?:\/|$)|^@$/;

/** A branch, tag, full ref or commit. */
export const gitRefRule: TextRule = { noun: 'A git ref', maxBytes: 255, check: faultOfGitRef };

function faultOfGitRef(text: string): Fault | undefined {
  if (!forbidden.test(text)) return undefined;
  return {
    code: 'invalid_value',
    message: `${quote(text)} is not a git ref.`,
    hint: 'Name a branch, a tag or a commit.',
  };
}
