import { encodeMessage } from '../src/protocol/encode-message.ts';
import { encodeFrame, encodeWindow } from '../src/protocol/frame.ts';
import { goaway, hello, open, reset, welcome } from '../src/protocol/messages.ts';
import { methods } from '../src/protocol/methods.ts';

/** One short connection, both directions in one list, each frame with a sentence. The vectors and the fuzzers use it. */
export const sampleFrames: readonly { readonly about: string; readonly bytes: Buffer }[] = [
  {
    about: 'the guest says hello',
    bytes: encodeFrame(
      'hello',
      0,
      encodeMessage(hello, {
        minVersion: 1,
        maxVersion: 1,
        guestVersion: '0.1.0',
        sandboxId: 'sbxabcdefghij0123456789',
        incarnation: 3,
        bootId: Buffer.alloc(16, 0xb0),
        secret: Buffer.alloc(32, 0x5e),
        initialWindow: 262144,
        maxChannels: 4096,
      }),
    ),
  },
  {
    about: 'the server welcomes it and hands out the next secret',
    bytes: encodeFrame(
      'welcome',
      0,
      encodeMessage(welcome, {
        version: 1,
        nextSecret: Buffer.alloc(32, 0x5f),
        initialWindow: 262144,
        maxChannels: 1024,
      }),
    ),
  },
  {
    about: 'channel 1 waits for a process',
    bytes: encodeFrame(
      'open',
      1,
      encodeMessage(open, {
        method: methods['process.wait'].number,
        input: false,
        params: encodeMessage(methods['process.wait'].params, { id: 'prcabcdefghij0123456789' }),
      }),
    ),
  },
  {
    about: 'channel 3 writes a file whose name is not UTF-8 (caf, 0xe9)',
    bytes: encodeFrame(
      'open',
      3,
      encodeMessage(open, {
        method: methods['file.write'].number,
        input: true,
        window: 65536,
        params: encodeMessage(methods['file.write'].params, {
          path: '/workspace/caf\udce9',
          how: 'replace',
          mode: 0o644,
          parents: true,
          sync: false,
        }),
      }),
    ),
  },
  { about: 'five bytes of the file', bytes: encodeFrame('data', 3, Buffer.from('hello')) },
  { about: 'the guest has written them and grants five more', bytes: encodeWindow(3, 5) },
  { about: 'the file is complete', bytes: encodeFrame('end', 3) },
  {
    about: 'an extension frame that nobody knows, to be skipped',
    bytes: Buffer.from('03000000ff01020307000000aabbcc', 'hex'),
  },
  {
    about: 'the write failed',
    bytes: encodeFrame(
      'reset',
      3,
      encodeMessage(reset, { code: 'no_space', message: 'no space left on device', errno: 28 }),
    ),
  },
  {
    about: 'the process was killed by its timeout',
    bytes: encodeFrame(
      'result',
      1,
      encodeMessage(methods['process.wait'].result, {
        why: 'timed_out',
        signal: 9,
        endedAt: 1_760_000_000_000,
        stdoutBytes: 5_000_000_000,
        stderrBytes: 0,
        cpuMilliseconds: 12,
        maxRssKiB: 2048,
      }),
    ),
  },
  { about: 'a ping', bytes: encodeFrame('ping', 0, Buffer.from('0102030405060708', 'hex')) },
  { about: 'its pong', bytes: encodeFrame('pong', 0, Buffer.from('0102030405060708', 'hex')) },
  {
    about: 'the server stops',
    bytes: encodeFrame('goaway', 0, encodeMessage(goaway, { reason: 'shutdown', message: 'restarting' })),
  },
];
