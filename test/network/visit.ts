import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';

/** One request to a preview as a client on this machine makes it: to the server's address, with a name of its own. */
export interface Visit {
  /** The address of the preview: its name goes into `Host`, for names below localhost resolve not everywhere. */
  readonly url: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer | AsyncIterable<Buffer>;
}

export interface Visited {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export async function visit(wanted: Visit): Promise<Visited> {
  const response = await open(wanted);
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: Buffer.concat(pieces).toString('latin1'),
  };
}

/** The answer with its body not yet read. */
export function open({ url, method = 'GET', headers = {}, body }: Visit): Promise<IncomingMessage> {
  const { host, port, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const path = `${pathname}${search}`;
    const asked = request(
      { host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false },
      resolve,
    );
    asked.on('error', reject);
    if (body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body)) void send(asked, body);
    else asked.end(body);
  });
}

async function send(asked: ReturnType<typeof request>, body: AsyncIterable<Buffer>): Promise<void> {
  try {
    for await (const piece of body) {
      if (!asked.write(piece)) await new Promise((resolve) => asked.once('drain', resolve));
    }
    asked.end();
  } catch {
    asked.destroy();
  }
}

/** Bytes as they are, to the address of a URL, and everything that comes back until the end. */
export async function sendRaw(url: string, text: string): Promise<string> {
  const socket = rawSocket(url);
  let said = '';
  socket.on('data', (bytes) => {
    said += bytes.toString('latin1');
  });
  socket.write(text, 'latin1');
  await new Promise((resolve) => socket.once('close', resolve));
  return said;
}

export function rawSocket(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  return socket;
}
