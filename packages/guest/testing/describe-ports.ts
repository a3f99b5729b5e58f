import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { GuestUnderTest } from './guest-under-test.ts';

async function all(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The namespace of the network is the machine's here, so a server in this process is a server inside. */
export function describePorts(under: GuestUnderTest): void {
  const ports = () => under.guest().client.ports;

  async function withServer(work: (port: number) => Promise<void>, onEnd: (input: string) => string): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      let input = '';
      socket.on('data', (chunk) => {
        input += chunk;
      });
      socket.on('end', () => socket.end(onEnd(input)));
      socket.on('error', () => {});
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    try {
      await work((server.address() as { port: number }).port);
    } finally {
      server.close();
    }
  }

  test('a connection to a port closes half by half', async () => {
    await withServer(
      async (port) => {
        const socket = await ports().connect({ port });
        socket.write('x'.repeat(500_000));
        socket.end('!');
        expect(await all(socket)).toBe('500001 bytes');
      },
      (input) => `${input.length} bytes`,
    );
    await expect(ports().connect({ port: 1 })).rejects.toMatchObject({ context: { guestCode: 'connection_refused' } });
  });

  test('a connection to a unix socket works', async () => {
    const path = `${under.guest().folder}/echo.sock`;
    const server = createServer((socket) => socket.pipe(socket));
    await new Promise<void>((done) => server.listen(path, done));
    const socket = await ports().connect({ path });
    socket.end('echo');
    expect(await all(socket)).toBe('echo');
    server.close();
  });

  test('listening ports are listed and waited for', async () => {
    await withServer(
      async (port) => {
        const found = await ports().list();
        expect(found).toContainEqual(expect.objectContaining({ port, address: '127.0.0.1', uid: 0 }));
        await ports().wait(port, { timeoutMs: 1000 });
      },
      () => '',
    );
    await expect(ports().wait(1, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'request_timeout' });
    const server = createServer();
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    setTimeout(() => server.listen(port, '127.0.0.1'), 300);
    await ports().wait(port, { timeoutMs: 5000 });
    server.close();
  });

  test('a guest without a free descriptor does not turn in circles', async () => {
    const pid = await under.guest().pid();
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    await ports().listenProxy('http', port);
    // Held, so that their descriptors stay taken.
    ports().onProxyClient = ({ stream }) => stream.on('error', () => {});
    const cpu = () => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return 10 * (Number(fields[11]) + Number(fields[12]));
    };
    const soft = /open files +(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1];
    const { descriptors } = await under.guest().client.stats();
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${descriptors}:`]);
    const sockets = Array.from({ length: 60 }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => {});
    const before = cpu();
    await delay(1000);
    expect(cpu() - before).toBeLessThan(200);
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
    for (const socket of sockets) socket.destroy();
    ports().onProxyClient = undefined;
  });

  test('connections to the proxy listener are carried to the server, also after it was gone', async () => {
    const guest = under.guest();
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    await ports().listenProxy('http', port);
    await ports().listenProxy('http', port);
    await expect(ports().listenProxy('socks', port)).rejects.toMatchObject({ context: { guestCode: 'busy' } });
    const kinds: string[] = [];
    const request = 'GET http://example.org/';
    ports().onProxyClient = ({ kind, stream }) => {
      let size = 0;
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length;
      });
      stream.on('end', () => {
        // The port is the machine's: whoever else dials it says something else.
        if (size === request.length) kinds.push(kind);
        stream.end(`server got ${size}`);
      });
      stream.on('error', () => {});
    };
    const talk = async () => {
      const socket = await ports().connect({ port });
      socket.end(request);
      return await all(socket);
    };
    expect(await talk()).toBe('server got 23');
    await guest.loseServer();
    await guest.bringServer();
    expect(await talk()).toBe('server got 23');
    expect(kinds).toEqual(['http', 'http']);
    ports().onProxyClient = undefined;
  });
}
