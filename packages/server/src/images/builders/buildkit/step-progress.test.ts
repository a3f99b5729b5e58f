import { expect, test } from 'vitest';
import type { BuildStep } from '../../plan/build-steps.ts';
import type { BuildEvent } from '../builder.ts';
import type { Vertex } from './control.ts';
import { StepProgress } from './step-progress.ts';

const steps = ['one', 'two', 'three'].map((id) => ({ kind: 'copy', id, title: id, from: id, to: '/' }) as BuildStep);

function vertex(name: string, more: Partial<Vertex> = {}): Vertex {
  return { digest: name, name, isCached: false, started: undefined, completed: undefined, error: '', ...more };
}

function watched(): { progress: StepProgress; told: string[] } {
  const told: string[] = [];
  const tell = (event: BuildEvent) =>
    told.push([event.kind, event.step, ...(event.kind === 'step-ended' ? [event.outcome, event.ms] : [])].join(' '));
  return { progress: new StepProgress(steps, tell, 1_000), told };
}

test('steps begin and end in order, however BuildKit takes them up again', () => {
  const { progress, told } = watched();
  const took = (name: string, started?: number, completed?: number) =>
    progress.take({ vertices: [vertex(name, { started, completed })], logs: [] });
  took('[internal] load build context', 1, 2);
  took('[1/4] FROM base', 1, 2);
  took('[2/4] COPY');
  took('[2/4] COPY', 10, 11);
  took('[2/4] COPY', 12);
  took('[2/4] COPY', 12, 20);
  took('[3/4] COPY', 20, 25);
  took('[4/4] COPY', 25, 26);
  expect(progress.end(false)).toBeUndefined();
  expect(told).toEqual([
    'step-began one',
    'step-ended one done 8',
    'step-began two',
    'step-ended two done 5',
    'step-began three',
    'step-ended three done 1',
  ]);
});

test('what was there already is told as such, before what is done', () => {
  const { progress, told } = watched();
  const cached = { isCached: true, started: 5, completed: 5 };
  progress.take({ vertices: [vertex('[3/4] b', cached), vertex('[2/4] a', cached)], logs: [] });
  progress.take({ vertices: [vertex('[4/4] c', { started: 6, completed: 9 })], logs: [] });
  progress.end(false);
  expect(told.filter((line) => line.startsWith('step-ended'))).toEqual([
    'step-ended one cached 0',
    'step-ended two cached 0',
    'step-ended three done 3',
  ]);
});

test('the step that failed is known with its last lines, and none after it is told of', () => {
  const { progress, told } = watched();
  progress.take({ vertices: [vertex('[2/4] a', { started: 1, completed: 2 })], logs: [] });
  progress.take({
    vertices: [vertex('[3/4] b', { started: 2, completed: 4, error: 'exit code: 7' })],
    logs: [{ vertex: '[3/4] b', bytes: Buffer.from('first\nlast words') }],
  });
  expect(progress.end(true)).toMatchObject({
    step: { id: 'two' },
    lastLines: ['first', 'last words'],
    words: 'exit code: 7',
  });
  expect(told.at(-1)).toBe('step-ended two failed 2');
});

test('where BuildKit went away the step that ran is the one that failed', () => {
  const { progress } = watched();
  progress.take({ vertices: [vertex('[2/4] a', { started: 1 })], logs: [] });
  expect(progress.end(true)).toMatchObject({ step: { id: 'one' } });
});

test('a name that a step made up is no step', () => {
  const { progress, told } = watched();
  progress.take({ vertices: [vertex('[2/9] a', { started: 1 }), vertex('x [2/4] a', { started: 1 })], logs: [] });
  expect(told).toEqual([]);
});

test('numbers are read as they are padded, and from where they begin', () => {
  const many = Array.from({ length: 11 }, (_, n) => ({ ...steps[0], id: `s${n}` }) as BuildStep);
  const told: string[] = [];
  const progress = new StepProgress(many, ({ kind, step }) => told.push(`${kind} ${step}`), 1_000, 1);
  progress.take({ vertices: [vertex('[stage-0  1/12] RUN', { started: 1, completed: 2 })], logs: [] });
  progress.take({ vertices: [vertex('[stage-0  2/12] RUN', { started: 3 })], logs: [] });
  expect(told).toEqual(['step-began s0', 'step-ended s0', 'step-began s1']);
});
