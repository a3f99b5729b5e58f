import * as z from 'zod';
import type { Fault } from './problems.ts';
import { quote } from './quote.ts';
import { faultOfText, type TextRule } from './text.ts';
import type { TextMapRule } from './text-map.ts';

/** The rule as the schema of an already normalized field: only canonical text passes. */
export function textSchema(rule: TextRule): z.ZodString {
  return z.string().superRefine((text, context) => {
    addIssue(context, [], faultOfText(rule, text) ?? faultOfSpelling(rule, text));
  });
}

export function textMapSchema(rule: TextMapRule): z.ZodRecord<z.ZodString, z.ZodString> {
  return z.record(z.string(), textSchema(rule.value)).superRefine((map, context) => {
    const keys = Object.keys(map);
    if (keys.length > rule.maxEntries) {
      addIssue(context, [], { code: 'too_many', message: `At most ${rule.maxEntries} entries are allowed here.` });
      return;
    }
    for (const key of keys) addIssue(context, [key], faultOfText(rule.key, key));
  });
}

function faultOfSpelling(rule: TextRule, text: string): Fault | undefined {
  const canonical = rule.canonical?.(text) ?? text;
  if (canonical === text) return undefined;
  return { code: 'invalid_value', message: `A blueprint spells ${quote(text)} as ${quote(canonical)}.` };
}

interface IssueSink {
  addIssue(issue: { code: 'custom'; path: PropertyKey[]; message: string; params: Record<string, unknown> }): void;
}

function addIssue(context: IssueSink, path: PropertyKey[], fault: Fault | undefined): void {
  if (fault === undefined) return;
  const { code, message, hint } = fault;
  context.addIssue({ code: 'custom', path, message, params: { code, hint } });
}
