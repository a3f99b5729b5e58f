import { CaissonError, type FieldProblem } from '../errors/caisson-error.ts';
import type { InputValue, ProfileInput, ResolvedProfile } from './profile.ts';

export type InputValues = Readonly<Record<string, InputValue>>;

/**
 * Values of all inputs of a profile: what was given, else the default. Text from a command line (`--input n=3`) is read
 * as the declared type. All faults are reported at once.
 */
export function resolveInputs(profile: ResolvedProfile, given: InputValues): Record<string, InputValue> {
  const declared = profile.inputs ?? {};
  const problems: FieldProblem[] = [];
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(declared, name)) {
      const known = Object.keys(declared);
      const hint = known.length === 0 ? 'This profile takes no inputs.' : `It takes: ${known.join(', ')}.`;
      problems.push({
        path: `inputs.${name}`,
        code: 'unknown_key',
        message: `profile ${profile.name} has no such input`,
        hint,
      });
    }
  }
  const values: Record<string, InputValue> = {};
  for (const [name, input] of Object.entries(declared)) {
    const raw = Object.hasOwn(given, name) ? given[name] : input.default;
    if (raw === undefined) {
      if (input.required)
        problems.push({
          path: `inputs.${name}`,
          code: 'required',
          message: 'must be given',
          hint: `Add \`--input ${name}=…\`.`,
        });
      continue;
    }
    const read = readInput(input, raw);
    if ('fault' in read) problems.push({ path: `inputs.${name}`, code: 'invalid_value', message: read.fault });
    else values[name] = read.value;
  }
  if (problems.length > 0) {
    const missing = problems.every((problem) => problem.code === 'required');
    const names = problems.map((problem) => problem.path.slice('inputs.'.length)).join(', ');
    throw new CaissonError(
      missing ? 'input_missing' : 'request_invalid',
      `inputs of profile ${profile.name}: ${names}`,
      { problems },
    );
  }
  return values;
}

function readInput(input: ProfileInput, raw: InputValue): { value: InputValue } | { fault: string } {
  switch (input.type) {
    case 'boolean': {
      if (typeof raw === 'boolean') return { value: raw };
      if (raw === 'true' || raw === 'false') return { value: raw === 'true' };
      return { fault: 'must be true or false' };
    }
    case 'number': {
      const value = typeof raw === 'string' && /^-?\d+(\.\d+)?$/.test(raw) ? Number(raw) : raw;
      if (typeof value !== 'number' || !Number.isFinite(value)) return { fault: 'must be a number' };
      if (input.min !== undefined && value < input.min) return { fault: `must be at least ${input.min}` };
      if (input.max !== undefined && value > input.max) return { fault: `must be at most ${input.max}` };
      return { value };
    }
    case 'string': {
      const value = String(raw);
      if (value.length > 4096) return { fault: 'must have at most 4096 characters' };
      if (input.choices && !input.choices.includes(value))
        return { fault: `must be one of ${input.choices.join(', ')}` };
      return { value };
    }
  }
}

const placeholder = /\$\{inputs\.([a-z][a-zA-Z0-9_]{0,62})\}/g;

/**
 * Replaces `${inputs.name}` in every string of a spec. A string that is nothing but one placeholder takes the value with
 * its type; an input without a value removes such a field, and is empty text inside a longer string. Values are put in
 * as they are and never read for placeholders again.
 */
export function fillInputs(value: unknown, inputs: InputValues): unknown {
  if (typeof value === 'string') return fillText(value, inputs);
  if (Array.isArray(value))
    return value.map((entry) => fillInputs(entry, inputs)).filter((entry) => entry !== undefined);
  if (typeof value !== 'object' || value === null) return value;
  const filled: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(value)) {
    const next = fillInputs(entry, inputs);
    if (next !== undefined) filled[key] = next;
  }
  return filled;
}

function fillText(text: string, inputs: InputValues): InputValue | undefined {
  const whole = /^\$\{inputs\.([a-z][a-zA-Z0-9_]{0,62})\}$/.exec(text)?.[1];
  if (whole !== undefined) return Object.hasOwn(inputs, whole) ? inputs[whole] : undefined;
  return text.replace(placeholder, (_, name: string) => (Object.hasOwn(inputs, name) ? String(inputs[name]) : ''));
}
