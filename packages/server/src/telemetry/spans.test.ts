import { CaissonError } from '@caisson/contract';
import { expect, test } from 'vitest';
import { type Span, Spans } from './spans.ts';

function traced(): { spans: Spans; ended: Span[] } {
  const spans = new Spans();
  const ended: Span[] = [];
  spans.trace((span) => ended.push(span));
  return { spans, ended };
}

test('what happens within a span is its child, however it is awaited', async () => {
  const { spans, ended } = traced();
  await spans.run('outer', {}, async () => {
    await Promise.all([
      spans.run('one', {}, async () => {}),
      new Promise<void>((resolve) => setTimeout(() => resolve(spans.run('two', {}, async () => {})), 1)),
    ]);
  });
  const [outer] = ended.filter(({ name }) => name === 'outer');
  for (const name of ['one', 'two']) {
    const inner = ended.find((span) => span.name === name);
    expect(inner?.place).toMatchObject({ trace: outer?.place?.trace, parent: outer?.place?.span });
  }
  expect(outer?.place?.parent).toBeUndefined();
});

test('an entry belongs to the trace of its caller, and to nothing that happens here', async () => {
  const { spans, ended } = traced();
  const parent = { trace: 'a'.repeat(32), span: 'b'.repeat(16) };
  await spans.run('outer', {}, () => spans.run('entry', {}, async () => {}, { entry: { parent } }));
  const entry = ended.find(({ name }) => name === 'entry');
  expect(entry?.place).toMatchObject({ trace: parent.trace, parent: parent.span, isEntry: true });
});

test('a failure is told by its code and goes on to whoever waits', async () => {
  const { spans, ended } = traced();
  const failing = spans.run('work', {}, async () => {
    throw new CaissonError('build_failed', 'no');
  });
  await expect(failing).rejects.toThrow('no');
  await expect(spans.run('other', {}, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(ended.map(({ failed }) => failed)).toEqual(['build_failed', 'internal']);
});

test('without anybody who keeps traces only what took time is told', async () => {
  const spans = new Spans();
  const ended: Span[] = [];
  spans.listen((span) => ended.push(span));
  await spans.run('work', { driver: 'fake' }, async () => expect(spans.here).toBeUndefined());
  expect(ended).toEqual([expect.objectContaining({ name: 'work', attributes: { driver: 'fake' }, place: undefined })]);
});
