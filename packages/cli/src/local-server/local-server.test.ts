import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaissonError, toProblem } from '@caisson/contract';
import { factsFile } from '@caisson/server/data-place';
import { afterAll, expect, test } from 'vitest';
import { localPlace } from './data-folder.ts';
import { isListening, isRunning } from './probe.ts';
import { lastProblem, openLog, readLog } from './server-log.ts';
import { ensureServer } from './start.ts';
import { stopServer } from './stop.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-local-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  [undefined, { HOME: '/home/a' }, '/home/a/.local/share/caisson'],
  [undefined, { HOME: '/home/a', XDG_DATA_HOME: '/data' }, '/data/caisson'],
  [undefined, { HOME: '/home/a', XDG_DATA_HOME: 'relative' }, '/home/a/.local/share/caisson'],
  [undefined, { XDG_DATA_HOME: '/data', CAISSON_DATA_FOLDER: '/own' }, '/own'],
  ['/given', { CAISSON_DATA_FOLDER: '/own' }, '/given'],
])('with --data %s and %j the data folder is %s', (option, env, expected) => {
  expect(localPlace(option, env)).toMatchObject({ folder: expected, socket: `${expected}/server.sock` });
});

test('nothing listens on what is not there or not a socket', async () => {
  writeFileSync(join(folder, 'file'), '');
  expect(await isListening(join(folder, 'nothing'))).toBe(false);
  expect(await isListening(join(folder, 'file'))).toBe(false);
});

test('this process runs, and one that cannot be does not', () => {
  expect(isRunning(process.pid)).toBe(true);
  expect(isRunning(2 ** 22 + 1)).toBe(false);
});

test('no server is stopped for a pid that a dead one left behind', async () => {
  const place = localPlace(folder, {});
  writeFileSync(factsFile(folder), JSON.stringify({ pid: process.pid }));
  expect(await stopServer(place)).toBeUndefined();
});

test('of a log only what is new is read, and the problem at its end is found', () => {
  const path = join(folder, 'log');
  writeFileSync(path, 'old\n');
  const { offset } = openLog(path);
  const problem = JSON.stringify(toProblem(new CaissonError('data_folder_newer', 'from the future')));
  writeFileSync(path, `starting\n${problem}\n`, { flag: 'a' });
  expect(readLog(path, offset)).toEqual(['starting', problem]);
  expect(lastProblem(readLog(path, offset))).toMatchObject({ code: 'data_folder_newer', message: 'from the future' });
  expect(lastProblem(['{"type":"urn:caisson:error:intern', 'text'])).toBeUndefined();
});

test('a server that dies at its start is told with its last words', async () => {
  const place = localPlace(join(folder, 'dying'), {});
  const bin = join(folder, 'dying.mjs');
  writeFileSync(bin, 'console.error("no luck today"); process.exit(3);');
  await expect(ensureServer(place, { bin, env: process.env })).rejects.toMatchObject({
    code: 'server_unreachable',
    message: expect.stringContaining('with code 3'),
    context: { log: ['no luck today'] },
  });
});

test.each([join(folder, 'file', 'below'), '/proc/caisson-test'])(
  'a data folder that cannot be made is told: %s',
  async (path) => {
    await expect(ensureServer(localPlace(path, {}), { bin: '', env: {} })).rejects.toMatchObject({
      code: 'data_folder_unusable',
      message: expect.stringContaining('data folder'),
    });
  },
);

test('a data folder whose socket no address can hold is refused', () => {
  expect(() => localPlace(`/${'x'.repeat(96)}`, {})).toThrow('too long');
  expect(localPlace(`/${'x'.repeat(94)}`, {}).socket).toHaveLength(107);
});
