import { expect, test } from 'vitest';
import { applyEdits } from './edit-file.ts';

const edit = (oldText: string, newText: string, all = false) => ({ oldText, newText, all });

test('edits apply one after the other, each to what the one before made', () => {
  expect(applyEdits('f', 'one two', [edit('one', 'two'), edit('two', '2', true)])).toEqual({
    text: '2 2',
    replaced: 3,
  });
});

test.each([
  ['is not there', 'abc', [edit('x', 'y')]],
  ['is there more than once', 'aXbX', [edit('X', 'y')]],
  ['is there more than once', 'aaa', [edit('aa', 'y')]],
  ['makes the file too large', 'a'.repeat(100_000), [edit('a', 'b'.repeat(1000), true)]],
])('an edit whose text %s is refused', (what, text, edits) => {
  expect(() => applyEdits('f', text, edits)).toThrowError(
    expect.objectContaining({ code: 'edit_conflict', message: expect.stringContaining(what) }),
  );
});
