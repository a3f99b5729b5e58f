import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CaissonEvent } from '@caisson/contract';

export interface Delivery {
  readonly event: CaissonEvent;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly at: number;
}

/** What receives webhooks on loopback, and does with each what a test says. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly deliveries: Delivery[];
  /** Answers a delivery; 204 when absent. What it does not accept is not among the deliveries. */
  answer: ((delivery: Delivery, response: ServerResponse) => void) | undefined;
  /** Resolves when so many have come. */
  until(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startReceiver(port = 0): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const waiting = new Set<() => void>();
  const take: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const delivery = { event: JSON.parse(body), body, headers: request.headers, at: Date.now() };
      if (receiver.answer) receiver.answer(delivery, response);
      else response.writeHead(204).end();
      if (response.statusCode < 300) deliveries.push(delivery);
      for (const look of [...waiting]) look();
    });
  };
  const server = createServer(take);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${bound}/hook`,
    port: bound,
    deliveries,
    answer: undefined,
    until: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (deliveries.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
