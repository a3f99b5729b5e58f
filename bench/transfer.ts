import { readFileSync } from 'node:fs';
import { type Benchmark, type Report, rateOf } from './report.ts';
import { type SandboxServer, whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';

const MiB = 1024 * 1024;
const gibibyte = 1024 * MiB;
const file = '/tmp/gibibyte';

/** A gibibyte in and out of a sandbox through HTTP, and what the server grows by meanwhile. */
export const transferBenchmark: Benchmark = {
  name: 'transfer',
  async run(report) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: transfer is left out: ${why}`);
    await withSandboxServer((server) => measure(report, server));
  },
};

async function measure(report: Report, server: SandboxServer): Promise<void> {
  const id = await server.create();
  const content = `/v1/sandboxes/${id}/files/content?path=${encodeURIComponent(file)}`;
  // What it needs for the first transfer of all is not growth.
  await write(server, content, 16 * MiB);
  await read(server, content, 16 * MiB);
  const before = residentBytes(server.pid);
  let most = before;
  const look = setInterval(() => {
    most = Math.max(most, residentBytes(server.pid));
  }, 50);
  try {
    report.metric('file.write_mb_s', await rateOf(3, () => write(server, content, gibibyte)));
    report.metric('file.read_mb_s', await rateOf(3, () => read(server, content, gibibyte)));
    report.metric('exec.output_mb_s', await rateOf(3, () => output(server, id, gibibyte)));
  } finally {
    clearInterval(look);
  }
  report.metric('server.growth_mb', Math.max(0, most - before) / 1e6);
}

async function write(server: SandboxServer, path: string, bytes: number): Promise<number> {
  const piece = Buffer.alloc(MiB, 7);
  const pieces = async function* () {
    for (let sent = 0; sent < bytes; sent += piece.byteLength) yield piece;
  };
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(bytes) };
  const answer = await server.connection.open('PUT', path, headers, pieces());
  for await (const _ of answer);
  return bytes;
}

async function read(server: SandboxServer, path: string, expected: number): Promise<number> {
  const bytes = await bodyBytes(server, 'GET', path, {});
  if (bytes !== expected) throw new Error(`${bytes} of ${expected} bytes were read`);
  return bytes;
}

async function output(server: SandboxServer, id: string, bytes: number): Promise<number> {
  const command = ['dd', 'if=/dev/zero', 'bs=1M', `count=${bytes / MiB}`, 'status=none'];
  const headers = { accept: 'application/vnd.caisson.output', 'content-type': 'application/json' };
  const got = await bodyBytes(server, 'POST', `/v1/sandboxes/${id}/exec`, headers, JSON.stringify({ command }));
  // The frames around the bytes come on top.
  if (got < bytes) throw new Error(`${got} of ${bytes} bytes came out`);
  return bytes;
}

async function bodyBytes(
  server: SandboxServer,
  method: string,
  path: string,
  headers: Record<string, string>,
  content?: string,
): Promise<number> {
  const answer = await server.connection.open(method, path, headers, content);
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
  });
  await new Promise((resolve, reject) => answer.once('end', resolve).once('error', reject));
  return bytes;
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}
