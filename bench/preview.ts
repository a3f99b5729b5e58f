import autocannon from 'autocannon';
import type { Benchmark } from './report.ts';
import { whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';

/** A page of a kilobyte from a server that does nothing else, so that what is measured is the way to it. */
const page = `
const body = Buffer.alloc(1024, 'x');
const head = 'HTTP/1.1 200 OK\\r\\ncontent-type: text/plain\\r\\ncontent-length: 1024\\r\\n\\r\\n';
const answer = Buffer.concat([Buffer.from(head), body]);
require('net').createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (bytes) => { if (bytes.includes('\\r\\n\\r\\n')) socket.write(answer); });
}).listen(3000, '127.0.0.1');
`;

/** A small page of a port inside, through its preview, from 50 connections that are kept. */
export const previewBenchmark: Benchmark = {
  name: 'preview',
  async run(report) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: preview is left out: ${why}`);
    await withSandboxServer(async (server) => {
      const id = await server.create();
      const at = `/v1/sandboxes/${id}`;
      await server.connection.json('POST', `${at}/processes`, { command: ['node', '-e', page] });
      await server.connection.json('POST', `${at}/ports/3000/wait`, { timeoutSeconds: 20 });
      const { url } = await server.connection.json<{ url: string }>('PUT', `${at}/ports/3000`, {
        visibility: 'public',
      });
      // Names below localhost do not resolve everywhere; the server goes by what stands in the header.
      const { host, port } = new URL(url);
      const load = { url: `http://127.0.0.1:${port}/`, connections: 50, headers: { host } };
      await autocannon({ ...load, duration: 3 });
      const result = await autocannon({ ...load, duration: 8 });
      if (result.non2xx > 0 || result.errors > 0)
        throw new Error(`${result.non2xx} refusals and ${result.errors} errors`);
      report.metric('preview.req_s', result.requests.average);
    });
  },
};
