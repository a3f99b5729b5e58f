import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { type Benchmark, median, type Report, rateOf } from './report.ts';
import { type SandboxServer, whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';

const MiB = 1024 * 1024;
const bytes = 1024 * MiB;
const rounds = 3;
/** As many clients as a build that fetches packages has. */
const clients = 16;
const requests = 12_000;
const timed = 1_500;
const proxyPort = 29_080;

/** Out of a sandbox through the proxy to a server on this machine, and the same without sandbox and proxy. */
export const egressBenchmark: Benchmark = {
  name: 'egress',
  async run(report) {
    const why = whyNoSandboxes() ?? whyNoNode();
    if (why !== undefined) return console.error(`bench: egress is left out: ${why}`);
    const origin = await startOrigin();
    try {
      const open = ['--egress-open', `127.0.0.1:${origin.port}`];
      await withSandboxServer((server) => measure(report, server, origin.port), open);
    } finally {
      origin.close();
    }
  },
};

async function measure(report: Report, server: SandboxServer, port: number): Promise<void> {
  const spec = { source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'open' } } };
  const id = await server.create({ spec });
  const inside = async (work: object) => {
    const { stdout } = await server.exec(id, [process.execPath, '-e', client, JSON.stringify(work)]);
    return JSON.parse(stdout) as Measured;
  };
  const outside = async (work: object) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', client, JSON.stringify(work)]);
    return JSON.parse(stdout) as Measured;
  };
  const via = { proxy: proxyPort, port };
  await inside({ ...via, kind: 'requests', clients, count: 2_000 });
  report.metric(
    'egress.mb_s',
    await rateOf(rounds, async () => (await inside({ ...via, kind: 'tunnel', bytes })).done),
  );
  report.metric(
    'egress.http_mb_s',
    await rateOf(rounds, async () => (await inside({ ...via, kind: 'body', bytes })).done),
  );
  const rates: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const { done, ms } = await inside({ ...via, kind: 'requests', clients, count: requests });
    rates.push((done / ms) * 1000);
  }
  report.metric('egress.req_s', median(rates));
  const direct = await outside({ port, kind: 'requests', clients: 1, count: timed });
  const proxied = await inside({ ...via, kind: 'requests', clients: 1, count: timed });
  report.metric('egress.direct_p50_ms', direct.p50);
  report.metric('egress.p50_ms', proxied.p50);
  report.metric('egress.added_p50_ms', proxied.p50 - direct.p50);
}

interface Measured {
  readonly done: number;
  readonly ms: number;
  readonly p50: number;
}

/** What runs inside: sockets and nothing else, so that it is the way out that is measured. */
const client = `
const net = require('node:net');
const { proxy, port, kind, clients = 1, count = 1, bytes = 0 } = JSON.parse(process.argv[1]);
const host = '127.0.0.1:' + port;
const get = (path) => 'GET ' + (proxy ? 'http://' + host : '') + path + ' HTTP/1.1\\r\\nhost: ' + host + '\\r\\n\\r\\n';
const times = [];
const began = performance.now();
let done = 0, left = count, open = clients;
const finish = () => {
  times.sort((a, b) => a - b);
  const p50 = times[times.length >> 1] ?? 0;
  console.log(JSON.stringify({ done, ms: performance.now() - began, p50 }));
  process.exit(0);
};
const fail = (why) => { console.error(String(why)); process.exit(1); };
if (kind === 'requests') {
  for (let n = 0; n < clients; n += 1) {
    const socket = net.connect(proxy ?? port, '127.0.0.1').setNoDelay(true).on('error', fail);
    const request = Buffer.from(get('/small'));
    let sent = 0, text = '';
    const next = () => {
      if (left === 0) { socket.destroy(); if (--open === 0) finish(); return; }
      left -= 1; sent = performance.now(); text = ''; socket.write(request);
    };
    socket.on('connect', next).on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!text.startsWith('HTTP/1.1 200')) return text.length > 12 && fail(text);
      if (!text.endsWith('small page\\n')) return;
      times.push(performance.now() - sent); done += 1; next();
    });
  }
} else {
  const socket = net.connect(proxy, '127.0.0.1').on('error', fail);
  let head = '';
  const target = kind === 'tunnel' ? 'CONNECT ' + host + ' HTTP/1.1\\r\\nhost: ' + host + '\\r\\n\\r\\n' : get('/large?' + bytes);
  socket.write(target);
  socket.on('data', (chunk) => {
    if (head.endsWith('\\r\\n\\r\\n')) { done += chunk.length; if (done >= bytes) finish(); return; }
    const text = head + chunk.toString('latin1');
    const end = text.indexOf('\\r\\n\\r\\n');
    if (end < 0) { head = text; return; }
    if (!/^HTTP\\/1.1 200/.test(text)) fail(text);
    done = text.length - end - 4;
    head = text.slice(0, end + 4);
    if (kind === 'tunnel') socket.write(Buffer.from('\\u0000' + bytes + '\\n', 'latin1'));
  });
}
`;

interface Origin {
  readonly port: number;
  close(): void;
}

const page = 'small page\n';
const small = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
);

/** A server as quick as can be: it looks for the end of a request and writes what is ready. */
async function startOrigin(): Promise<Origin> {
  const server: Server = createServer({ noDelay: true }, (socket) => {
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const raw = /^\0(\d+)\n/.exec(text);
      if (raw) return void pour(socket, Number(raw[1]));
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const large = /^GET \/large\?(\d+) /.exec(text);
        text = text.slice(end + 4);
        if (!large) socket.write(small);
        else {
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${large[1]}\r\n\r\n`);
          void pour(socket, Number(large[1]));
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, close: () => void server.close() };
}

async function pour(socket: Socket, total: number): Promise<void> {
  const piece = Buffer.alloc(MiB, 7);
  for (let sent = 0; sent < total && !socket.destroyed; sent += piece.length) {
    if (!socket.write(piece)) await once(socket, 'drain').catch(() => {});
  }
}

/** The client is a program of Node, and a sandbox of the machine's own programs sees those below /usr. */
function whyNoNode(): string | undefined {
  return process.execPath.startsWith('/usr/') ? undefined : 'the Node of this machine is not below /usr';
}
