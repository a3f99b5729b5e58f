import type { Foreground, Step } from '../blueprint.ts';
import { foregroundKinds, stepShells } from '../vocabulary.ts';
import { reported } from './bounds.ts';
import { Fields, isObject, readList, readText, shape } from './fields.ts';
import { maxSteps } from './limits.ts';
import { commandRule, stepIdRule } from './names.ts';
import { resolveDirectory, workingDirectoryRule } from './paths.ts';
import type { Problems } from './problems.ts';
import { quote } from './quote.ts';
import { reportWrongType } from './wrong-type.ts';

const stepShape = shape('a step', 'id', 'run', 'shell', 'workingDirectory');
const startupShape = shape('`startup`', 'steps', 'foreground');
const harnessForegroundShape = shape('a foreground that is the harness', 'kind');
const commandForegroundShape = shape('a foreground command', 'kind', 'run', 'shell', 'workingDirectory');

/** Where commands run unless they say otherwise, and what relative directories are relative to. */
export interface StepDefaults {
  repositoryDirectory: string;
}

export interface Startup {
  steps: Step[];
  foreground: Foreground;
}

interface Command {
  run: string;
  shell: (typeof stepShells)[number];
  workingDirectory: string;
}

type NamelessStep = Command & { id: string | undefined };

/** A string, a step object, or a list of them. Steps without an id are named after their position: `setup-1`. */
export function readSteps(
  value: unknown,
  path: string,
  prefix: 'setup' | 'startup',
  defaults: StepDefaults,
  problems: Problems,
): Step[] {
  const taken = new Set<string>();
  const read = (entry: unknown, entryPath: string): NamelessStep | undefined => {
    const step = readStep(entry, entryPath, defaults, problems);
    if (step?.id === undefined) return step;
    if (taken.has(step.id)) {
      problems.add(`${entryPath}.id`, 'duplicate', `Another step already has the id ${quote(step.id)}.`);
    }
    taken.add(step.id);
    return step;
  };
  if (typeof value !== 'string' && !isObject(value)) {
    return nameSteps(readList(value, path, read, problems, maxSteps), prefix, taken);
  }
  const single = read(value, path);
  return single === undefined ? [] : nameSteps([single], prefix, taken);
}

/** A string is the foreground command; a list is steps before the harness; an object gives both. */
export function readStartup(value: unknown, path: string, defaults: StepDefaults, problems: Problems): Startup {
  const startup: Startup = { steps: [], foreground: { kind: 'harness' } };
  if (value === undefined || value === reported) return startup;
  if (typeof value === 'string') {
    startup.foreground = readForeground(value, path, defaults, problems) ?? startup.foreground;
  } else if (Array.isArray(value)) {
    startup.steps = readSteps(value, path, 'startup', defaults, problems);
  } else if (isObject(value)) {
    Fields.of(value, path, startupShape, problems);
    const { steps, foreground } = value;
    if (steps !== undefined) startup.steps = readSteps(steps, `${path}.steps`, 'startup', defaults, problems);
    if (foreground !== undefined) {
      startup.foreground = readForeground(foreground, `${path}.foreground`, defaults, problems) ?? startup.foreground;
    }
  } else {
    reportWrongType(problems, path, value, 'a command, a list of steps or an object');
  }
  return startup;
}

function readStep(value: unknown, path: string, defaults: StepDefaults, problems: Problems): NamelessStep | undefined {
  if (value === reported) return undefined;
  if (typeof value === 'string') {
    const command = readCommandText(value, path, defaults, problems);
    return command && { id: undefined, ...command };
  }
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'a command or a step object');
    return undefined;
  }
  const fields = Fields.of(value, path, stepShape, problems);
  const id = fields?.text('id', stepIdRule);
  const command = fields && readCommand(fields, defaults);
  return command && { id, ...command };
}

function readForeground(
  value: unknown,
  path: string,
  defaults: StepDefaults,
  problems: Problems,
): Foreground | undefined {
  if (value === reported) return undefined;
  if (typeof value === 'string') {
    const command = readCommandText(value, path, defaults, problems);
    return command && { kind: 'command', ...command };
  }
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'a command or a foreground object');
    return undefined;
  }
  const expected = value.kind === 'harness' ? harnessForegroundShape : commandForegroundShape;
  const fields = Fields.of(value, path, expected, problems);
  if (fields === undefined) return undefined;
  // An object with `run` alone is a command, as it is in a list of steps.
  const kind = fields.has('kind') ? fields.choice('kind', foregroundKinds) : 'command';
  if (kind !== 'command') return kind && { kind };
  const command = readCommand(fields, defaults);
  return command && { kind, ...command };
}

function readCommandText(value: string, path: string, defaults: StepDefaults, problems: Problems): Command | undefined {
  const run = readText(value, path, commandRule, problems);
  return run === undefined ? undefined : commandOf(defaults, run);
}

function readCommand(fields: Fields, defaults: StepDefaults): Command | undefined {
  const run = fields.text('run', commandRule);
  fields.require('run', 'A step needs a `run` command.');
  const shell = fields.choice('shell', stepShells);
  const directory = fields.text('workingDirectory', workingDirectoryRule);
  return run === undefined ? undefined : commandOf(defaults, run, shell, directory);
}

/** `sh` is the default shell because every image has one; `bash` is a wish that a base may not meet. */
function commandOf(defaults: StepDefaults, run: string, shell: Command['shell'] = 'sh', directory?: string): Command {
  const { repositoryDirectory } = defaults;
  const workingDirectory =
    directory === undefined ? repositoryDirectory : resolveDirectory(repositoryDirectory, directory);
  return { run, shell, workingDirectory };
}

/** Gives each nameless step `<prefix>-<position>`, or the next number that no step has taken. */
function nameSteps(steps: readonly NamelessStep[], prefix: string, taken: Set<string>): Step[] {
  return steps.map(({ id, run, shell, workingDirectory }, index) => {
    let number = index + 1;
    while (id === undefined && taken.has(`${prefix}-${number}`)) number += 1;
    const name = id ?? `${prefix}-${number}`;
    taken.add(name);
    return { id: name, run, shell, workingDirectory };
  });
}
