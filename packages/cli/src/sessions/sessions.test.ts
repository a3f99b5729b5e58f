import { PassThrough, Readable } from 'node:stream';
import type { ProcessExit } from '@caisson/contract';
import type { Attachment, OutputChunk } from '@caisson/sdk';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CollectedOutput } from './collected-output.ts';
import { DetachKeys, parseDetachKeys } from './detach-keys.ts';
import { exitCodeOf, exitNote } from './exit-code.ts';
import { Interrupts } from './interrupts.ts';
import { LastLines } from './last-lines.ts';
import { replayOf } from './replay.ts';
import { runSession } from './session.ts';

test.each([
  ['ctrl-p,ctrl-q', [0x10, 0x11]],
  ['ctrl-@', [0]],
  ['ctrl-],x', [0x1d, 0x78]],
  ['none', []],
])('the keys %s are the bytes %j', (text, bytes) => {
  expect([...parseDetachKeys(text)]).toEqual(bytes);
});

test.each(['ctrl-', 'ctrl-pp', 'pq', 'a,,b', 'ctrl-1'])('%j are no keys', (text) => {
  expect(() => parseDetachKeys(text)).toThrow(InvalidArgumentError);
});

test('the detach keys are found across pieces, and nothing of what was typed before is lost', () => {
  const keys = new DetachKeys(parseDetachKeys('ctrl-p,ctrl-q'));
  expect(keys.take(Buffer.from('ab\x10'))).toEqual({ pass: Buffer.from('ab'), isComplete: false });
  expect(keys.take(Buffer.from('\x10'))).toEqual({ pass: Buffer.from('\x10'), isComplete: false });
  expect(keys.take(Buffer.from('c\x10'))).toEqual({ pass: Buffer.from('\x10c'), isComplete: false });
  expect(keys.take(Buffer.from('\x11late'))).toEqual({ pass: Buffer.from(''), isComplete: true });
});

test('what is typed passes unchanged unless it holds the sequence', () => {
  const letters = fc.array(fc.constantFrom('a', 'b', 'x'), { maxLength: 30 });
  fc.assert(
    fc.property(letters, fc.constantFrom('a,b', 'a,a,b', 'a,b,a,x'), (typed, text) => {
      const sequence = parseDetachKeys(text);
      const keys = new DetachKeys(sequence);
      let passed = '';
      for (const letter of typed) {
        const { pass, isComplete } = keys.take(Buffer.from(letter));
        passed += pass.toString();
        if (isComplete) {
          expect(typed.join('')).toContain(passed + sequence.toString());
          return;
        }
      }
      expect(typed.join('')).not.toContain(sequence.toString());
      expect(typed.join('').startsWith(passed)).toBe(true);
      expect(sequence.toString().startsWith(typed.join('').slice(passed.length))).toBe(true);
    }),
  );
});

test.each([
  [{ why: 'exited', exitCode: 7, signal: null }, 7],
  [{ why: 'signalled', exitCode: null, signal: 'SIGINT' }, 130],
  [{ why: 'timed_out', exitCode: null, signal: 'SIGTERM' }, 124],
  [{ why: 'out_of_memory', exitCode: null, signal: 'SIGKILL' }, 137],
  [{ why: 'killed_with_sandbox', exitCode: null, signal: null }, 137],
] as const)('%j is the exit code %i', (exit, code) => {
  expect(exitCodeOf(exit)).toBe(code);
});

test('what an exit code alone would not say is told', () => {
  expect(exitNote({ why: 'out_of_memory' })).toContain('out of memory');
  expect(exitNote({ why: 'exited' })).toBeUndefined();
});

test('Ctrl-C interrupts, and leaves when it comes again within a second', () => {
  const did: string[] = [];
  const interrupts = new Interrupts(
    () => did.push('interrupt'),
    () => did.push('leave'),
  );
  for (const at of [0, 1_500, 4_000, 4_900]) interrupts.press(at);
  expect(did).toEqual(['interrupt', 'interrupt', 'interrupt', 'leave']);
});

test('the last lines of each stream are kept, and one that has not ended counts', () => {
  const last = new LastLines(2);
  for (const text of ['one\ntw', 'o\nthr', 'ee\nfo']) last.take({ stream: 'stdout', bytes: Buffer.from(text) });
  last.take({ stream: 'stderr', bytes: Buffer.from('bad\n') });
  expect(last.chunks().map(({ stream, bytes }) => [stream, Buffer.from(bytes).toString()])).toEqual([
    ['stdout', 'three\nfo'],
    ['stderr', 'bad\n'],
  ]);
});

test('collected output is bounded, and bytes that are no text are base64', () => {
  const collected = new CollectedOutput();
  collected.take('stdout', Buffer.alloc(1_500_000, 'a'));
  expect(collected.toJSON()).toMatchObject({ encoding: 'utf8', truncated: true });
  expect(collected.toJSON().stdout).toHaveLength(1024 * 1024);
  collected.take('stderr', Buffer.from([0xff]));
  expect(collected.toJSON()).toMatchObject({ encoding: 'base64', stderr: '/w==' });
});

test('coming back shows a few screens of a terminal and all that is kept of a pipe', () => {
  expect(replayOf({ pty: true, stdoutBytes: 100 })).toEqual({ stdoutFrom: 0 });
  expect(replayOf({ pty: true, stdoutBytes: 1_000_000 }).stdoutFrom).toBeGreaterThan(900_000);
  expect(replayOf({ pty: false, stdoutBytes: 1_000_000 })).toEqual({ stdoutFrom: 0, stderrFrom: 0 });
});

/** A process that gives these pieces and then ends, or never does. */
class Played implements Attachment {
  readonly process = 'p';
  readonly lost = 0;
  readonly typed: string[] = [];
  exit: ProcessExit | undefined;
  #close: () => void = () => {};
  readonly #closed = new Promise<void>((resolve) => {
    this.#close = resolve;
  });
  readonly #pieces: readonly string[];
  readonly #ends: boolean;

  constructor(pieces: readonly string[], ends: boolean) {
    this.#pieces = pieces;
    this.#ends = ends;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<OutputChunk> {
    for (const text of this.#pieces) yield { stream: 'stdout', bytes: Buffer.from(text) };
    if (this.#ends) this.exit = { why: 'exited', exitCode: 0, signal: null } as ProcessExit;
    else await this.#closed;
  }
  async write(data: string | Uint8Array): Promise<void> {
    this.typed.push(Buffer.from(data).toString());
  }
  async end(): Promise<void> {
    this.typed.push('<end>');
  }
  async resize(): Promise<void> {}
  async signal(): Promise<void> {}
  close(): void {
    this.#close();
  }
}

function streams(stdin: Readable) {
  const stdout = new PassThrough();
  let closes: (() => void) | undefined;
  return {
    stdout,
    closeOutput: () => closes?.(),
    stdio: () => ({ stdin, stdout, stderr: new PassThrough() }),
    whenOutputCloses: (act: (() => void) | undefined) => {
      closes = act;
    },
  };
}

test('a session passes output and input and ends with its process', async () => {
  const ours = streams(new PassThrough());
  const process = new Played(['a', 'b'], true);
  const end = await runSession(process, ours, { tty: false, input: true, detachKeys: Buffer.alloc(0) });
  expect(end).toMatchObject({ left: false, exit: { exitCode: 0 } });
  expect(ours.stdout.read().toString()).toBe('ab');
});

test('the detach keys leave a terminal, and what was typed before them has arrived', async () => {
  const process = new Played([], false);
  const ours = streams(Readable.from([Buffer.from('ls\n'), Buffer.from('\x10\x11')]));
  const detachKeys = parseDetachKeys('ctrl-p,ctrl-q');
  expect(await runSession(process, ours, { tty: true, input: true, detachKeys })).toEqual({ left: 'keys' });
  expect(process.typed).toEqual(['ls\n']);
});

test('a reader that goes away ends the session, not with an error', async () => {
  const ours = streams(new PassThrough());
  const session = runSession(new Played(['a'], false), ours, {
    tty: false,
    input: false,
    detachKeys: Buffer.alloc(0),
  });
  ours.closeOutput();
  expect(await session).toEqual({ left: 'output-closed' });
});
