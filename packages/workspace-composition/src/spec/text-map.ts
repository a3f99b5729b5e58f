import { reported } from './bounds.ts';
import { isObject, readText } from './fields.ts';
import type { Problems } from './problems.ts';
import { pathOf } from './quote.ts';
import { faultOfText, type TextRule } from './text.ts';
import { reportWrongType } from './wrong-type.ts';

/** The rules of a map from names to texts: an environment, or labels. */
export interface TextMapRule {
  key: TextRule;
  value: TextRule;
  maxEntries: number;
}

/** The map with its keys in code unit order, whatever order they were written in. */
export function readTextMap(
  value: unknown,
  path: string,
  rule: TextMapRule,
  problems: Problems,
): Record<string, string> {
  if (value === undefined || value === reported) return {};
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'an object');
    return {};
  }
  const keys = Object.keys(value).sort();
  if (keys.length > rule.maxEntries) {
    problems.add(path, 'too_many', `At most ${rule.maxEntries} entries are allowed here, found ${keys.length}.`);
    return {};
  }
  const map: Record<string, string> = {};
  for (const key of keys) {
    const entryPath = pathOf(path, key);
    const fault = faultOfText(rule.key, key);
    if (fault !== undefined) problems.addFault(entryPath, fault);
    const text = readText(value[key], entryPath, rule.value, problems);
    if (text !== undefined) map[key] = text;
  }
  return map;
}
