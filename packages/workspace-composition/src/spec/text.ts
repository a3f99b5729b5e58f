import type { Fault } from './problems.ts';
import { quote } from './quote.ts';

/**
 * What a string field may hold. The spec reader and the blueprint schema both judge by the same rule, so they cannot
 * drift apart: the reader accepts what `check` accepts and emits `canonical`; the schema accepts only canonical text.
 */
export interface TextRule {
  /** With its article, as a sentence begins: `A git ref`. */
  noun: string;
  maxBytes: number;
  /** Commands and environment values may span lines; nothing else may. */
  multiline?: true;
  mayBeEmpty?: true;
  check?: (text: string) => Fault | undefined;
  canonical?: (text: string) => string;
}

export const flawNul = 1;
export const flawSurrogate = 2;
export const flawControl = 4;

/** Which of the three flaws a text has, as a bit set: a NUL, half a surrogate pair, another control character. */
export function flawsOf(text: string): number {
  let flaws = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x20 && unit < 0x7f) continue;
    if (unit === 0) flaws |= flawNul;
    else if (unit < 0xa0 || unit === 0x2028 || unit === 0x2029) flaws |= flawControl;
    else if (unit >= 0xd800 && unit < 0xe000) {
      const next = text.charCodeAt(index + 1);
      if (unit < 0xdc00 && next >= 0xdc00 && next < 0xe000) index += 1;
      else flaws |= flawSurrogate;
    }
  }
  return flaws;
}

/** How long the text is in UTF-8: what a file, an environment and a command line count. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // A surrogate pair is two units and four bytes, so each half counts one extra.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

export function faultOfText(rule: TextRule, text: string): Fault | undefined {
  if (text === '' && !rule.mayBeEmpty) return { code: 'invalid_value', message: `${rule.noun} must not be empty.` };
  if (text.length * 3 > rule.maxBytes && (text.length > rule.maxBytes || utf8Bytes(text) > rule.maxBytes)) {
    return { code: 'too_long', message: `${rule.noun} may be at most ${rule.maxBytes} bytes long.` };
  }
  const flaws = flawsOf(text);
  if (flaws !== 0) {
    const fault = faultOfFlaws(flaws, rule.multiline === true);
    if (fault !== undefined) return fault;
  }
  return rule.check?.(text);
}

export function faultOfFlaws(flaws: number, multiline: boolean): Fault | undefined {
  if (flaws & flawNul) return { code: 'control_character', message: 'The text contains a NUL character.' };
  if (flaws & flawSurrogate) {
    return { code: 'invalid_unicode', message: 'The text is not valid Unicode: it contains half a surrogate pair.' };
  }
  if (flaws & flawControl && !multiline) {
    return { code: 'control_character', message: 'The text contains a line break or another control character.' };
  }
  return undefined;
}

/** A check by pattern; `grammar` completes the sentence "… is not …". */
export function matching(pattern: RegExp, grammar: string, hint?: string): (text: string) => Fault | undefined {
  return (text) => {
    if (pattern.test(text)) return undefined;
    const message = `${quote(text)} is not ${grammar}.`;
    return hint === undefined ? { code: 'invalid_value', message } : { code: 'invalid_value', message, hint };
  };
}
