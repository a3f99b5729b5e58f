import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** In a thread of its own: takes deliveries and says how late each was after its event. */
const latencies: number[] = [];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const now = Date.now();
    const event = JSON.parse(Buffer.concat(chunks).toString()) as { time: string };
    latencies.push(now - Date.parse(event.time));
    response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => parentPort?.postMessage({ port: (server.address() as AddressInfo).port }));
parentPort?.on('message', () => parentPort?.postMessage({ latencies: latencies.splice(0) }));
