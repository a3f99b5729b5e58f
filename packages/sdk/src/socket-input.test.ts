import { expect, test } from 'vitest';
import { SocketInput } from './socket-input.ts';

function world() {
  const sent: string[] = [];
  const input = new SocketInput((kind, bytes) => sent.push(`${kind}:${bytes.byteLength}`));
  return { sent, input };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

test('nothing is sent before the server has told where its stdin is, and then all of it', async () => {
  const { sent, input } = world();
  await input.write(new Uint8Array(10));
  expect(sent).toEqual([]);
  input.resume(500);
  expect(sent).toEqual(['stdin:10']);
});

test('what was not accepted is sent again on the next socket, and what was is not', async () => {
  const { sent, input } = world();
  input.resume(0);
  await input.write(new Uint8Array(100));
  await input.write(new Uint8Array(50));
  input.accepted(30);
  sent.length = 0;
  input.resume(110);
  expect(sent).toEqual(['stdin:40']);
  input.accepted(150);
  sent.length = 0;
  input.resume(150);
  expect(sent).toEqual([]);
});

test('a writer waits for a server that accepts nothing, with a bounded part in memory', async () => {
  const { sent, input } = world();
  input.resume(0);
  let isDone = false;
  const writing = input.write(new Uint8Array(1_000_000)).then(() => {
    isDone = true;
  });
  await turn();
  const bytes = () => sent.reduce((sum, line) => sum + Number(line.split(':')[1]), 0);
  expect(isDone).toBe(false);
  expect(bytes()).toBeLessThanOrEqual(256 * 1024);
  for (let at = 0; !isDone; at = bytes()) {
    input.accepted(at);
    await turn();
  }
  await writing;
  expect(bytes()).toBe(1_000_000);
});

test('the end waits for everything before it, and is repeated on the next socket', async () => {
  const { sent, input } = world();
  input.resume(0);
  await input.write(new Uint8Array(5));
  const ending = input.end();
  await turn();
  expect(sent).toEqual(['stdin:5']);
  input.accepted(5);
  await ending;
  input.resume(5);
  expect(sent).toEqual(['stdin:5', 'end:0', 'end:0']);
});

test('a failure ends the waiting', async () => {
  const { input } = world();
  input.resume(0);
  const writing = input.write(new Uint8Array(600_000));
  await turn();
  input.fail(new Error('over'));
  await expect(writing).rejects.toThrow('over');
  await expect(input.write(new Uint8Array(1))).rejects.toThrow('over');
});
