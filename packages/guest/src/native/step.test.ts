import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildGuest } from '../../build.mjs';

const program = buildGuest({ quiet: true });
const run = promisify(execFile);

let folder: string;
let port: number;
let echo: Server;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'csn-step-'));
  mkdirSync(join(folder, 'step'));
  port = await freePort();
  echo = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).pipe(socket));
  await new Promise<void>((resolve) => echo.listen(join(folder, `${port}.sock`), resolve));
});

afterEach(() => {
  echo.close();
  rmSync(folder, { recursive: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

const step = (...argv: string[]) => run(program, ['step', folder, String(port), '--', ...argv]);

test('a step sees what the builder says and reaches the socket of the port', async () => {
  writeFileSync(join(folder, 'step', 'env'), 'PROXY=http://a=b\nnothing\nOTHER=two words\n');
  const ask = `exec 3<>/dev/tcp/127.0.0.1/${port}; echo hello >&3; read -r line <&3; echo "$line $PROXY $OTHER"`;
  const both = `(${ask}) & (${ask}) & wait`;
  expect((await step('bash', '-c', both)).stdout).toBe('hello http://a=b two words\n'.repeat(2));
});

test('it ends as the program ends', async () => {
  await expect(step('sh', '-c', 'exit 2')).rejects.toMatchObject({ code: 2, stderr: '' });
  await expect(step('sh', '-c', 'kill -9 $$')).rejects.toMatchObject({ code: 137 });
  await expect(step('/no/such/program')).rejects.toMatchObject({
    code: 127,
    stderr: expect.stringContaining('No such'),
  });
});

test('without a port for the way out the step is not started', async () => {
  const second = step('sh', '-c', `"$0" step "$1" ${port} -- echo started`, program, folder);
  await expect(second).rejects.toMatchObject({ code: 125, stdout: '', stderr: expect.stringContaining('no way out') });
});
