import { connect } from 'node:net';
import { byteForms, newId } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { whyNoGuest } from '../../packages/guest/testing/start-guest.ts';
import { collect, type InsideWorld, insideWorld, opened } from './inside-world.ts';
import { call } from './server.ts';

const reason = whyNoGuest();
let world: InsideWorld;
beforeAll(async () => {
  if (reason === undefined) world = await insideWorld();
});
afterAll(() => world?.close());

const raw = (path: string, init: RequestInit = {}) =>
  fetch(`${world.server.url}/v1/sandboxes/${world.sandbox.id}${path}`, init);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(reason !== undefined)('a command', () => {
  test('gives its output, its exit code and the signal that ended it', async () => {
    const { sandbox } = world;
    expect(await sandbox.exec('echo out; echo err >&2; exit 3')).toMatchObject({
      exitCode: 3,
      signal: null,
      why: 'exited',
      stdout: 'out\n',
      stderr: 'err\n',
      encoding: 'utf8',
      truncated: false,
    });
    expect(await sandbox.exec('kill -9 $$')).toMatchObject({ exitCode: null, signal: 'SIGKILL', why: 'signalled' });
    expect(await sandbox.exec(['printf', '%s|', 'a b', '$x'])).toMatchObject({ stdout: 'a b|$x|' });
  });

  test('has its environment, folder, user, input and time limit', async () => {
    const { sandbox } = world;
    const options = { env: { X: '1' }, cwd: '/usr', user: 'root', stdin: 'typed' };
    expect((await sandbox.exec('echo $X $(pwd) $(id -u) $(cat)', options)).stdout).toBe('1 /usr 0 typed\n');
    expect((await sandbox.exec('cat', { stdinBase64: 'AAH/' })).stdout).toBe('AAH/');
    expect(await sandbox.exec('sleep 60', { timeoutSeconds: 0.1 })).toMatchObject({ why: 'timed_out' });
  });

  test('that writes too much is cut and says so; what is not text is base64', async () => {
    const { sandbox } = world;
    const cut = await sandbox.exec('head -c 3000000 /dev/zero | tr "\\0" x', { maxOutputBytes: 1000 });
    expect(cut).toMatchObject({ exitCode: 0, truncated: true, stdout: 'x'.repeat(1000) });
    expect(await sandbox.exec('printf "\\377"')).toMatchObject({ encoding: 'base64', stdout: '/w==' });
  });

  test.each([
    ['a program that is not there', { command: ['no-such-program'] }, 'command_not_found'],
    ['a folder that is not there', { command: 'true', cwd: '/no/such' }, 'command_not_found'],
    ['a user that is not there', { command: 'true', user: 'nobody-here' }, 'request_invalid'],
    ['NUL', { command: 'a\0b' }, 'request_invalid'],
    ['no command', { command: [] }, 'request_invalid'],
    ['an unknown key', { command: 'true', comand: 1 }, 'request_invalid'],
    ['two inputs', { command: 'cat', stdin: 'a', stdinBase64: 'YQ==' }, 'request_invalid'],
    ['a limit without end', { command: 'true', maxOutputBytes: 1e12 }, 'request_invalid'],
    ['a variable with =', { command: 'true', env: { 'A=B': 'x' } }, 'request_invalid'],
  ])('with %s is refused', async (_, body, code) => {
    const answer = await call(world.server.url, 'POST', `/v1/sandboxes/${world.sandbox.id}/exec`, { body });
    expect(answer.body).toMatchObject({ code, hint: expect.any(String) });
  });

  test('is one of many at once, and each gets its own answer', async () => {
    const all = await Promise.all(
      Array.from(
        { length: 100 },
        async (_, n) => (await world.sandbox.exec(`echo ${n}; cat`, { stdin: `in ${n}` })).stdout,
      ),
    );
    expect(all).toEqual(all.map((_, n) => `${n}\nin ${n}`));
  });

  test('whose client leaves goes on and can be found', async () => {
    const abort = new AbortController();
    const tag = `marker-${Date.now()}`;
    const leaving = world.sandbox.exec(`: ${tag}; sleep 1; echo done > /tmp/${tag}`, { signal: abort.signal });
    await expect.poll(async () => JSON.stringify(await world.sandbox.processes.list())).toContain(tag);
    abort.abort();
    await expect(leaving).rejects.toThrow();
    const found = (await world.sandbox.processes.list()).find(({ record }) => record.command.includes(tag));
    expect(await found?.wait()).toMatchObject({ exitCode: 0 });
    expect(await world.sandbox.files.readText(`/tmp/${tag}`)).toBe('done\n');
    await found?.forget();
  });
});

describe.skipIf(reason !== undefined)('a command as a stream', () => {
  test('gives both streams whole, and the exit last', async () => {
    let out = 0;
    let err = '';
    const done = await world.sandbox.run('head -c 5000000 /dev/zero; echo oops >&2; exit 4', {
      onStdout: (bytes) => {
        out += bytes.byteLength;
      },
      onStderr: (bytes) => {
        err += Buffer.from(bytes);
      },
    });
    expect(done).toMatchObject({ exitCode: 4, why: 'exited', stdoutBytes: 5_000_000, stderrBytes: 5, lost: 0 });
    expect([out, err]).toEqual([5_000_000, 'oops\n']);
  });

  test('does not end the command when the connection breaks; the client goes on where it was', async () => {
    const sockets: import('node:net').Socket[] = [];
    const proxy = (await import('node:net')).createServer((socket) => {
      const { hostname, port } = new URL(world.server.url);
      const up = connect(Number(port), hostname);
      sockets.push(socket);
      socket.pipe(up).pipe(socket);
      socket.on('error', () => up.destroy());
      up.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as { port: number };
    const { Caisson } = await import('@caisson/sdk');
    const sandbox = await new Caisson({ baseUrl: `http://127.0.0.1:${port}` }).sandboxes.get(world.sandbox.id);
    let text = '';
    let breaks = 0;
    const done = await sandbox.run('for i in $(seq 1 400); do echo line $i; sleep 0.005; done', {
      onStdout: (bytes) => {
        text += Buffer.from(bytes);
        if (text.length > 1000 * (breaks + 1) && breaks < 3) {
          breaks += 1;
          for (const socket of sockets.splice(0)) socket.destroy();
        }
      },
    });
    proxy.close();
    expect(breaks).toBe(3);
    expect(done).toMatchObject({ exitCode: 0, lost: 0 });
    expect(text).toBe(Array.from({ length: 400 }, (_, n) => `line ${n + 1}\n`).join(''));
  });

  test('waits for a reader that stops, with little in memory', async () => {
    const response = await raw('/exec', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: byteForms.output },
      body: JSON.stringify({ command: 'head -c 300000000 /dev/zero' }),
    });
    const id = response.headers.get('x-caisson-process') ?? '';
    await sleep(500);
    const before = (await world.sandbox.processes.get(id)).record;
    await sleep(300);
    const after = (await world.sandbox.processes.get(id)).record;
    expect(before.running).toBe(true);
    expect(after.stdoutBytes).toBe(before.stdoutBytes);
    expect(after.stdoutBytes).toBeLessThan(32_000_000);
    await response.body?.cancel();
    await world.sandbox.processes.signal(id, 'SIGKILL');
  });
});

describe.skipIf(reason !== undefined)('a process', () => {
  test('is started once for one id, listed by tag, waited for and forgotten', async () => {
    const { processes } = world.sandbox;
    const id = newId('process');
    const first = await processes.start('echo started; sleep 0.2', { process: id, tags: ['one'] });
    const again = await processes.start('echo started; sleep 0.2', { process: id, tags: ['one'] });
    expect([first.id, again.pid]).toEqual([id, first.pid]);
    expect((await processes.list({ tag: 'one' })).map((process) => process.id)).toEqual([id]);
    expect(await first.wait({ waitSeconds: 0 })).toBeNull();
    await expect(first.forget()).rejects.toMatchObject({ code: 'process_busy' });
    expect(await first.wait()).toMatchObject({ exitCode: 0, stdoutBytes: 8 });
    expect((await collect(first.output())).stdout).toBe('started\n');
    await first.forget();
    await expect(first.refresh()).rejects.toMatchObject({ code: 'process_not_found' });
  });

  test('is signalled by name and by number, and refuses what is neither', async () => {
    const process = await world.sandbox.processes.start('trap "exit 7" TERM; while :; do sleep 0.01; done');
    await sleep(100);
    await process.signal('SIGTERM');
    expect(await process.wait()).toMatchObject({ exitCode: 7 });
    const other = await world.sandbox.processes.start('sleep 60');
    await other.signal(9);
    expect(await other.wait()).toMatchObject({ signal: 'SIGKILL' });
    await expect(other.signal('SIGNOTHING' as never)).rejects.toMatchObject({ code: 'request_invalid' });
  });

  test.each(['sandbox', 'plain'] as const)('has a stdin and a terminal (%s)', async (which) => {
    const { processes } = world[which];
    const cat = await processes.start('cat', { stdin: true });
    await cat.write('one ');
    await cat.write('two');
    await cat.end();
    expect((await collect(cat.output())).stdout).toBe('one two');
    await expect(cat.write('late')).rejects.toMatchObject({ code: 'process_ended' });
    const shell = await processes.start(['/bin/sh'], { pty: { columns: 91, rows: 17 }, env: { PS1: '' } });
    const attached = shell.attach();
    const reading = collect(attached);
    await attached.write('stty size\n');
    await expect.poll(async () => (await shell.refresh()).record.stdoutBytes).toBeGreaterThan(16);
    await attached.resize(50, 10);
    await attached.write('stty size; exit 5\n');
    expect((await reading).stdout).toMatch(/17 91[\s\S]*10 50/);
    expect(attached.exit).toMatchObject({ exitCode: 5 });
  });

  test('without a stdin says so to who writes to it', async () => {
    const process = await world.sandbox.processes.start('sleep 30');
    await expect(process.write('text')).rejects.toMatchObject({ code: 'process_ended' });
    await process.signal('SIGKILL');
  });

  test('is read whole over sockets that break, and written to, each byte once', async () => {
    const process = await world.sandbox.processes.start('cat', { stdin: true, outputWhenDetached: 'wait' });
    const attached = process.attach();
    const total = 6_000_000;
    const block = Buffer.from(Array.from({ length: 60_000 }, (_, n) => (n * 7 + 3) % 251));
    let got = 0;
    let wrong = 0;
    let breaks = 0;
    const reading = (async () => {
      for await (const { bytes } of attached) {
        for (const byte of bytes) {
          if (byte !== block[got % block.length]) wrong += 1;
          got += 1;
        }
        if (got > (breaks + 1) * 1_200_000 && breaks < 4) {
          breaks += 1;
          opened.at(-1)?.terminate();
        }
      }
    })();
    for (let sent = 0; sent < total; sent += block.length) await attached.write(block);
    await attached.end();
    await reading;
    expect({ got, wrong, breaks, lost: attached.lost }).toEqual({ got: total, wrong: 0, breaks: 4, lost: 0 });
  });

  test('is taken over by the newest reader, and the one before is told', async () => {
    const process = await world.sandbox.processes.start('echo a; sleep 30', { stdin: true });
    const first = collect(process.attach());
    first.catch(() => {});
    await sleep(100);
    const second = process.attach({ stdoutFrom: 2 });
    const reading = collect(second);
    await expect(first).rejects.toMatchObject({ code: 'attachment_taken' });
    await process.signal('SIGKILL');
    expect((await reading).stdout).toBe('');
    expect(second.exit).toMatchObject({ signal: 'SIGKILL' });
  });

  test('tells which part of its output is no longer kept', async () => {
    const process = await world.sandbox.processes.start('head -c 3000000 /dev/zero', { outputWhenDetached: 'drop' });
    await process.wait();
    const attached = process.attach();
    const { stdout = '' } = await collect(attached);
    expect(attached.lost).toBeGreaterThan(1_000_000);
    expect(attached.lost + stdout.length).toBe(3_000_000);
  });

  test('has no output beyond what it wrote', async () => {
    const process = await world.sandbox.processes.start('true');
    await process.wait();
    const answer = await raw(`/processes/${process.id}/output?stdoutFrom=1`);
    expect([answer.status, await answer.json()]).toMatchObject([416, { code: 'range_invalid' }]);
  });
});

describe.skipIf(reason !== undefined)('a WebSocket', () => {
  const open = (path: string, options: { headers?: Record<string, string> } = {}) =>
    new Promise<{ status: number; text: string; socket?: WebSocket }>((resolve) => {
      const url = `${world.server.url.replace('http', 'ws')}/v1/sandboxes/${path}`;
      const socket = new WebSocket(url, options);
      socket.once('open', () => resolve({ status: 101, text: '', socket }));
      socket.on('error', () => {});
      socket.once('unexpected-response', (_, response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
    });
  const attach = async (command: string) => {
    const process = await world.sandbox.processes.start(command, { stdin: true });
    const { socket } = await open(`${world.sandbox.id}/processes/${process.id}/attach`);
    return { process, socket: socket as WebSocket };
  };
  const closed = (socket: WebSocket) =>
    new Promise<{ code: number; problem: string }>((resolve) => {
      let problem = '';
      socket.on('message', (data: Buffer) => {
        if (data[0] === 4) problem = data.subarray(1).toString();
      });
      socket.once('close', (code) => resolve({ code, problem }));
    });

  test('is refused as a request would be: no such sandbox, process, route, host or origin', async () => {
    const id = world.sandbox.id;
    expect(await open(`${newId('sandbox')}/processes/${newId('process')}/attach`)).toMatchObject({
      status: 404,
      text: expect.stringContaining('sandbox_not_found'),
    });
    expect(await open(`${id}/processes/${newId('process')}/attach`)).toMatchObject({
      status: 404,
      text: expect.stringContaining('process_not_found'),
    });
    expect(await open(`${id}/exec`)).toMatchObject({ status: 404, text: expect.stringContaining('route_not_found') });
    for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
      expect(await open(`${id}/processes/${newId('process')}/attach`, { headers })).toMatchObject({ status: 421 });
    }
  });

  test('a refused upgrade is closed by the server, whatever its peer does', async () => {
    const { port } = new URL(world.server.url);
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise<string>((resolve) => {
      socket.once('error', () => resolve('reset'));
      socket.once('close', () => resolve('closed'));
    });
    socket.resume();
    socket.write(
      `GET /v1/nothing HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('end', resolve));
    // The other half is ours and stays open; what is written into it meets nobody.
    const knock = setInterval(() => socket.write('still here'), 50);
    expect(await closed).toMatch(/reset|closed/);
    clearInterval(knock);
    socket.destroy();
  });

  test('without an upgrade it says what it is', async () => {
    const process = await world.sandbox.processes.start('true');
    const answer = await raw(`/processes/${process.id}/attach`);
    expect([answer.status, await answer.json()]).toMatchObject([426, { code: 'websocket_needed' }]);
  });

  test.each([
    ['text', 'hello'],
    ['an unknown kind', Buffer.from([9, 1])],
    ['nothing', Buffer.alloc(0)],
    ['a size that is not JSON', Buffer.from('\x02{')],
    ['a size without rows', Buffer.from('\x02{"columns":3}')],
    ['a signal of no name', Buffer.from('\x03{"signal":"SIGNOT"}')],
  ])('is closed with a problem after %s', async (_, message) => {
    const { process, socket } = await attach('sleep 30');
    const end = closed(socket);
    socket.send(message);
    expect(await end).toMatchObject({ code: 1008, problem: expect.stringContaining('request_invalid') });
    await process.signal('SIGKILL');
  });

  test('is closed after a message that is too long, and the process goes on', async () => {
    const { process, socket } = await attach('sleep 30');
    const end = closed(socket);
    socket.send(Buffer.alloc(2_000_000));
    expect((await end).code).toBe(1009);
    expect((await process.refresh()).running).toBe(true);
    await process.signal('SIGKILL');
  });

  test('of clients that come and go leave nothing behind', async () => {
    const process = await world.sandbox.processes.start('yes', { stdin: true, outputWhenDetached: 'drop' });
    const channels = () =>
      world.driver.started({ sandbox: world.sandbox.id, incarnation: 1 }).connection().channelCount;
    for (let round = 0; round < 30; round += 1) {
      const { socket } = await open(`${world.sandbox.id}/processes/${process.id}/attach`);
      if (round % 2 === 0) await sleep(5);
      socket?.terminate();
      const response = await raw(`/processes/${process.id}/output`);
      await response.body?.cancel();
    }
    await expect.poll(channels).toBe(0);
    await process.signal('SIGKILL');
  });

  test('of a client that stops reading makes the process wait', async () => {
    const { process, socket } = await attach('head -c 200000000 /dev/zero');
    socket.pause();
    await sleep(500);
    const before = (await process.refresh()).record.stdoutBytes;
    await sleep(300);
    expect((await process.refresh()).record).toMatchObject({ running: true, stdoutBytes: before });
    socket.terminate();
    await process.signal('SIGKILL');
  });
});
