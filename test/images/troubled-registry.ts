import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TroubledRegistry {
  readonly host: string;
  /** Method, path, and the secret that came with it. */
  readonly asked: { method: string; path: string; authorization: string | undefined; range: string | undefined }[];
  stop(): Promise<void>;
}

export type Trouble = (request: IncomingMessage, response: ServerResponse, pass: () => void) => void;

/** Stands before a real registry; a trouble answers in its place, or passes on. */
export async function startTroubled(behind: string, trouble: Trouble): Promise<TroubledRegistry> {
  const asked: TroubledRegistry['asked'] = [];
  const server = createServer((incoming, response) => {
    const { authorization, range } = incoming.headers;
    asked.push({ method: incoming.method ?? '', path: incoming.url ?? '', authorization, range });
    trouble(incoming, response, () => passOn(behind, incoming, response));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** The registry hears the name that it was asked by, so that the addresses it gives lead here again. */
function passOn(host: string, incoming: IncomingMessage, response: ServerResponse): void {
  const { authorization: _, ...headers } = incoming.headers;
  const { method } = incoming;
  const onward = request(`http://${host}${incoming.url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  incoming.on('error', () => onward.destroy());
  response.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
