import { CaissonError, type ErrorCode } from '@caisson/contract';
import { type Document, isScalar, LineCounter, parseDocument, visit } from 'yaml';

/**
 * Reads a spec or a profile as people write it: YAML, of which JSON is a part. The one place where text becomes a value,
 * for the CLI and the API alike.
 *
 * Every bound holds before the work it bounds: size before parsing, aliases while resolving. What a value may be beyond
 * that (depth, number of nodes, keys) is the business of the parser that takes it.
 */

/** A spec of this size has thousands of lines; a larger one is a mistake or an attack. */
export const maxDocumentBytes = 1_048_576;

/** Reading YAML takes some microseconds a character, during which nothing else happens; JSON takes almost nothing. */
const maxYamlBytes = 262_144;

/** YAML resolves an alias by sharing; a hundred uses are plenty for people, and a bomb needs far more. */
const maxAliasCount = 100;

/** The YAML parser descends the call stack, which ends at some thousand levels. */
const maxFlowDepth = 200;

export function readDocument(text: string, code: ErrorCode, what = 'the document'): unknown {
  if (Buffer.byteLength(text) > maxDocumentBytes) {
    throw refuse(code, '$', 'too_large', `${what} is larger than ${maxDocumentBytes} bytes`);
  }
  const json = asJson(text);
  if (json) return json.value;
  if (Buffer.byteLength(text) > maxYamlBytes) {
    throw refuse(code, '$', 'too_large', `${what} is larger than ${maxYamlBytes} bytes; only JSON may be`);
  }
  if (flowDepth(text) > maxFlowDepth) throw tooDeep(code, what);
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, schema: 'core', logLevel: 'error' });
    const fault = document.errors[0];
    if (fault) {
      if (isTooDeep(fault)) throw tooDeep(code, what);
      const { line, col } = lines.linePos(fault.pos[0]);
      throw refuse(code, `line ${line}, column ${col}`, 'malformed', firstLine(fault.message));
    }
    refuseRepeatedKeys(document, lines, code);
    return document.toJS({ maxAliasCount });
  } catch (error) {
    if (error instanceof CaissonError) throw error;
    if (isTooDeep(error)) throw tooDeep(code, what);
    throw refuse(code, '$', 'malformed', firstLine(error instanceof Error ? error.message : String(error)));
  }
}

function asJson(text: string): { value: unknown } | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    // It may still be YAML, which begins like that too, and whose errors say where.
    return undefined;
  }
}

/** By a set for each map: the parser's own way compares each key with every other. */
function refuseRepeatedKeys(document: Document, lines: LineCounter, code: ErrorCode): void {
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          const { line, col } = lines.linePos(key.range?.[0] ?? 0);
          throw refuse(
            code,
            `line ${line}, column ${col}`,
            'malformed',
            `the key ${String(key.value).slice(0, 100)} is there twice`,
          );
        }
        seen.add(key.value);
      }
    },
  });
}

function flowDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === 0x5b || char === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (char === 0x5d || char === 0x7d) depth = Math.max(0, depth - 1);
  }
  return deepest;
}

/** A depth that the brackets do not show (`- - - -`) ends the parser's call stack, which it reports or throws. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && /call stack/.test(error.message));
}

function tooDeep(code: ErrorCode, what: string): CaissonError {
  return refuse(code, '$', 'too_deep', `${what} is nested too deeply`);
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? '';
}

function refuse(code: ErrorCode, path: string, problem: string, message: string): CaissonError {
  return new CaissonError(code, message, { problems: [{ path, code: problem, message }] });
}
