import { CaissonError } from '@caisson/contract';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { bytesText } from './bytes.ts';
import { doctorText } from './doctor-text.ts';
import { errorText } from './error-text.ts';
import { modeText } from './file-text.ts';
import { printable } from './printable.ts';
import { withProgress } from './progress.ts';
import { Screen } from './screen.ts';
import { pairs, table } from './table.ts';
import { relativeTime, shortDuration } from './time.ts';

test('what would command the terminal is written out', () => {
  expect(printable('a\u001b[31mb\r\n\u009bc')).toBe('a\\x1b[31mb\\x0d\\x0a\\x9bc');
});

test('columns are as wide as their widest cell, and colours do not count', () => {
  const red = (text: string) => `\u001b[31m${text}\u001b[0m`;
  const text = table(
    ['ID', 'STATE', 'X'],
    [
      ['a', { text: 'failed', paint: red }, 'y'],
      ['bbb', 'ok', ''],
    ],
  );
  expect(text.split('\n')).toEqual(['ID   STATE   X', 'a    \u001b[31mfailed\u001b[0m  y', 'bbb  ok']);
});

test('a cell from elsewhere cannot break its line', () => {
  expect(table(['A'], [['x\ny']])).toBe('A\nx\\x0ay');
  expect(pairs([['name', 'a\u001b[2J']])).toBe('name  a\\x1b[2J');
});

test('an error says what happened, where, what is known, and what to do next', () => {
  const error = new CaissonError('spec_invalid', 'two things', {
    problems: [
      { path: 'repo', code: 'required', message: 'must be given', hint: 'Write a git URL.' },
      { path: 'os', code: 'invalid_value', message: 'is unknown' },
    ],
    context: { sandbox: 'sbx1', log: ['one', 'two\u0007'], nothing: null, more: { a: 1 } },
    hint: 'Mend it.',
  });
  expect(errorText(error).split('\n')).toEqual([
    'error: two things',
    '  repo: must be given',
    '    Write a git URL.',
    '  os: is unknown',
    '  sandbox: sbx1',
    '  log:',
    '    one',
    '    two\\x07',
    '  more: {"a":1}',
    'code: spec_invalid',
    'next: Mend it.',
  ]);
});

test.each([
  [0, '0s'],
  [59, '59s'],
  [200, '3m20s'],
  [900, '15m'],
  [7199, '1h59m'],
  [7200, '2h'],
  [864_000, '10d'],
])('%i seconds are %s', (seconds, text) => {
  expect(shortDuration(seconds)).toBe(text);
});

test('times are told from now', () => {
  expect(relativeTime('1970-01-01T00:01:00Z', 0)).toBe('in 1m');
  expect(relativeTime('1970-01-01T00:01:00Z', 65_000)).toBe('5s ago');
  expect(relativeTime(null)).toBe('');
});

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 KiB'],
  [200 * 1024 ** 2, '200 MiB'],
])('%i bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

test.each([
  ['directory', 0o755, 'drwxr-xr-x'],
  ['file', 0o4750, '-rwsr-x---'],
  ['directory', 0o1777, 'drwxrwxrwt'],
  ['symlink', 0o2644, 'lrw-r-Sr--'],
] as const)('a %s of mode %i is %s', (kind, mode, text) => {
  expect(modeText({ kind, mode })).toBe(text);
});

test('the doctor tells each check, what would mend it right below, and the sum', () => {
  const sink = { isTTY: false, write: () => {} };
  const screen = new Screen({ argv: [], env: {}, out: sink, err: sink });
  const checks = [
    { name: 'node', ok: true, detail: 'Node 20; linux', fix: null },
    { name: 'driver oci', ok: false, detail: 'no runtime\u001b[2J', fix: 'apt-get install crun\nor runc' },
  ];
  expect(doctorText(screen, { ok: false, version: '1', checks }).split('\n')).toEqual([
    'server 1',
    '',
    '✓ node        Node 20',
    '              linux',
    '✗ driver oci  no runtime\\x1b[2J',
    '              → apt-get install crun',
    '              → or runc',
    '',
    '1 of 2 checks failed; what → says would mend them',
  ]);
});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

async function progress(isTTY: boolean, wantsJson: boolean, ms: number): Promise<string> {
  let written = '';
  const write = (text: string) => {
    written += text;
  };
  const err = { isTTY, write };
  const done = withProgress({ err, wantsJson }, 'creating', async (say) => {
    setTimeout(() => say('provisioning'), 1_500);
    await new Promise((resolve) => setTimeout(resolve, ms));
  });
  await vi.advanceTimersByTimeAsync(ms);
  await done;
  return written;
}

test('what takes less than a second shows no progress', async () => {
  expect(await progress(true, false, 900)).toBe('');
  expect(await progress(false, false, 900)).toBe('');
});

test('a terminal sees one moving line that is cleared at the end', async () => {
  const written = await progress(true, false, 2_500);
  expect(written).toContain('creating (1 s)');
  expect(written).toContain('provisioning (2 s)');
  expect(written).not.toContain('\n');
  expect(written.endsWith('\r\u001b[2K')).toBe(true);
});

test('a pipe sees a line for each step, and none with --json', async () => {
  expect(await progress(false, false, 2_500)).toBe('creating …\nprovisioning …\n');
  expect(await progress(false, true, 2_500)).toBe('');
});

test('many steps are told once a second where lines stay, the newest of them', async () => {
  const written: string[] = [];
  const err = { isTTY: false, write: (text: string) => void written.push(text) };
  const done = withProgress({ err, wantsJson: false }, 'making', async (say) => {
    for (let step = 0; step < 30; step += 1) {
      say(`step ${step}...`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
  await vi.advanceTimersByTimeAsync(4_000);
  await done;
  expect(written).toEqual(['step 9 …\n', 'step 19 …\n', 'step 29 …\n']);
});

test('a moving line is never longer than the terminal is wide', async () => {
  const drawn: string[] = [];
  const err = { isTTY: true, columns: 40, write: (text: string) => void drawn.push(text) };
  const work = () => new Promise<void>((resolve) => setTimeout(resolve, 2_000));
  const done = withProgress({ err, wantsJson: false }, 'x'.repeat(200), work);
  await vi.advanceTimersByTimeAsync(2_000);
  await done;
  const lines = drawn.map((text) => text.replace('\r\u001b[2K', ''));
  expect(lines.length).toBeGreaterThan(5);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(40);
});

test('why each backend cannot serve is one sentence each', () => {
  const candidates = [
    { driver: 'docker', host: 'vm', reason: 'unsupported-os', path: 'target.os', message: 'it has no such thing' },
    { driver: 'podman', host: 'vm', reason: 'circuit_open', path: null, message: 'it is left alone' },
  ];
  const error = new CaissonError('no_route', 'no backend can serve this', { context: { candidates } });
  expect(errorText(error)).toContain(
    '  candidates:\n    docker on vm: it has no such thing (target.os)\n    podman on vm: it is left alone\n',
  );
});
