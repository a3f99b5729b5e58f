import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { buildGuest, buildVariant } from '../../build.mjs';
import { shapes } from '../../testing/channel-states.ts';
import { frameTypes } from '../protocol/frame-types.ts';
import { allMessages, methods } from '../protocol/methods.ts';
import { violations } from '../protocol/protocol-error.ts';

/** The C program's own tests, and the vectors that both languages must agree on. */
const packageFolder = join(import.meta.dirname, '..', '..');
const vectors = (name: string) => JSON.parse(readFileSync(join(packageFolder, 'vectors', `${name}.json`), 'utf8'));
const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=0' };
let program: string;

beforeAll(() => {
  program = buildVariant('test', { quiet: true });
}, 120_000);

function ask(mode: string, lines: readonly string[]): number[] {
  const output = execFileSync(program, [mode], { input: `${lines.join('\n')}\n`, encoding: 'utf8', env });
  return output.trim().split('\n').map(Number);
}

test('without a compiler, and without a prebuilt program, the build says so in one line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-build-'));
  try {
    cpSync(join(packageFolder, 'build.mjs'), join(folder, 'build.mjs'));
    cpSync(join(packageFolder, 'native'), join(folder, 'native'), { recursive: true });
    const done = spawnSync(process.execPath, [join(folder, 'build.mjs')], { encoding: 'utf8', env: { PATH: '' } });
    expect(done.status).toBe(1);
    expect(done.stderr).toMatch(/^guest: the guest needs a C compiler, and there is no prebuilt .*\n$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the unit tests in C pass', () => {
  expect(execFileSync(program, { encoding: 'utf8', env })).toMatch(/^\d+ checks, 0 failed\n$/);
});

test('the C decoder refuses every invalid stream for the same reason', () => {
  const streams: { about: string; hex: string; violation: keyof typeof violations }[] = vectors('invalid');
  const names = Object.keys(violations);
  const answers = ask(
    'decode',
    streams.map(({ hex }) => hex),
  );
  expect(streams.map(({ about }, n) => `${about}: ${names[(answers[n] ?? 0) - 1]}`)).toEqual(
    streams.map(({ about, violation }) => `${about}: ${violation}`),
  );
});

test('the C decoder takes every frame and every message of parameters', () => {
  const frames: { hex: string }[] = vectors('frames');
  expect(
    ask(
      'decode',
      frames.map(({ hex }) => hex),
    ).every((answer) => answer === 0),
  ).toBe(true);
  const byParams = new Map(Object.values(methods).map((method) => [method.params.name, method]));
  const messages: { message: string; hex: string }[] = vectors('messages');
  const opens = messages.flatMap(({ message, hex }) => {
    const method = byParams.get(message);
    return method === undefined ? [] : [openFrame(method.number, method.input, Buffer.from(hex, 'hex'))];
  });
  expect(opens.length).toBeGreaterThan(30);
  expect(ask('decode', opens)).toEqual(opens.map(() => 0));
  expect(allMessages.size).toBeGreaterThan(0);
});

function openFrame(number: number, input: boolean, params: Buffer): string {
  const field = (tag: number, type: number, value: Buffer) => {
    const header = Buffer.alloc(8);
    header.writeUInt16LE(tag, 0);
    header[2] = type;
    header.writeUInt32LE(value.length, 4);
    return Buffer.concat([header, value]);
  };
  const method = Buffer.alloc(8);
  method.writeUInt32LE(number, 0);
  const payload = Buffer.concat([field(1, 1, method), field(2, 3, Buffer.from([input ? 1 : 0])), field(4, 5, params)]);
  const header = Buffer.alloc(12);
  header.writeUInt32LE(payload.length, 0);
  header.writeUInt32LE(frameTypes.open.code, 4);
  header.writeUInt32LE(1, 8);
  return Buffer.concat([header, payload]).toString('hex');
}

test('the C channel machine gives every verdict of the table', () => {
  interface Row {
    shape: string;
    side: 'opener' | 'acceptor';
    answered: boolean;
    opener: string;
    acceptor: string;
    verdicts: Record<string, string>;
  }
  const outputs = ['none', 'bytes', 'records'];
  const answers = ['alone', 'first', 'last'];
  const phases = ['open', 'finished', 'reset'];
  const names = ['ok', ...Object.keys(violations)];
  const questions: string[] = [];
  const wanted: string[] = [];
  for (const row of vectors('channels') as Row[]) {
    const shape = shapes[row.shape];
    if (shape === undefined) throw new Error(row.shape);
    const state = [
      shape.input ? 1 : 0,
      outputs.indexOf(shape.output),
      answers.indexOf(shape.answer),
      row.answered ? 1 : 0,
    ];
    const halves = [phases.indexOf(row.opener), phases.indexOf(row.acceptor)];
    for (const [event, verdict] of Object.entries(row.verdicts)) {
      const [way, frame = ''] = event.split(' ');
      const from = (way === 'sent') === (row.side === 'opener') ? 0 : 1;
      const size = frame === 'data' || frame === 'window' ? 1 : 0;
      const code = frameTypes[frame as keyof typeof frameTypes].code;
      questions.push([...state, ...halves, from, way === 'sent' ? 1 : 0, code, size].join(' '));
      wanted.push(verdict);
    }
  }
  const given = ask('channel', questions).map((answer) => (answer === -1 ? 'discard' : names[answer]));
  expect(given).toEqual(wanted);
});

test('the decoder and the path handling stand a bounded run of the fuzzer', () => {
  const fuzz = buildVariant('fuzz', { quiet: true });
  const corpus = join(packageFolder, 'native', 'fuzz', 'corpus');
  const output = execFileSync(fuzz, [corpus, '3', '20260731'], { encoding: 'utf8', env });
  expect(Number(output.split(' ')[0])).toBeGreaterThan(10_000);
}, 120_000);

test('the program is small', () => {
  expect(statSync(buildGuest({ quiet: true })).size).toBeLessThan(400 * 1024);
});
