import { expect, test } from 'vitest';
import { type ChannelLink, GuestChannel } from './guest-channel.ts';

const window = 1024;

/** A channel whose grants are written down. */
function channel(): { channel: GuestChannel; grants: number[] } {
  const grants: number[] = [];
  const nothing = () => {};
  const link: ChannelLink = {
    credit: () => 0,
    sendData: nothing,
    sendEnd: nothing,
    sendResult: nothing,
    sendReset: nothing,
    grant: (_, credit) => grants.push(credit),
    room: () => undefined,
  };
  return { channel: new GuestChannel(link, 1, 'process.attach', window), grants };
}

/** Takes so many chunks of the size, and asks for one more. */
async function readThrough(reader: GuestChannel, count: number, size: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    reader.gotData(Buffer.alloc(size));
    await reader.read();
  }
  reader.read().catch(() => {});
}

test('credit for a stream that runs is given in parts of the window, not for each chunk', async () => {
  const { channel: reader, grants } = channel();
  await readThrough(reader, 100, 64);
  expect(grants).toEqual(Array(25).fill(256));
});

test('credit for less than that is given soon after, once', async () => {
  const { channel: reader, grants } = channel();
  await readThrough(reader, 3, 10);
  expect(grants).toEqual([]);
  await expect.poll(() => grants).toEqual([30]);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(grants).toEqual([30]);
});

test.each(['ended', 'failed'])('no credit is given on a channel that has %s meanwhile', async (how) => {
  const { channel: reader, grants } = channel();
  await readThrough(reader, 3, 10);
  if (how === 'ended') reader.gotEnd();
  else reader.fail(new Error('lost'));
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(grants).toEqual([]);
});

test('what was read is not credited while somebody may need it again', async () => {
  const { channel: reader, grants } = channel();
  reader.holdsCredit = true;
  await readThrough(reader, 8, 64);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(grants).toEqual([]);
  reader.seen(300);
  reader.seen(5);
  expect(grants).toEqual([300]);
  await expect.poll(() => grants).toEqual([300, 5]);
});
