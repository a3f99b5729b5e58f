import { expect, test } from 'vitest';
import { OpenStreams } from './open-streams.ts';

test("one caller's streams leave room for others, and each that ends makes room", () => {
  const streams = new OpenStreams('streams', 3, 2);
  const leave = [streams.enter('ada'), streams.enter('ada')];
  expect(() => streams.requireRoom('ada')).toThrowError(expect.objectContaining({ code: 'too_many_streams' }));
  expect(() => streams.requireRoom('bob')).not.toThrow();
  streams.enter('bob');
  expect(() => streams.requireRoom('eve')).toThrowError(expect.objectContaining({ code: 'too_many_streams' }));
  leave[0]?.();
  expect(() => streams.requireRoom('ada')).not.toThrow();
});
