import { connect, type NetConnectOpts, type Socket } from 'node:net';

/** What came back for one request. */
export interface Exchanged {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

interface Head {
  readonly status: number;
  readonly type: string;
  /** How long its body is; pieces that each say their length; or whatever comes until the end of the connection. */
  readonly length: number | 'chunked' | 'until-closed';
  readonly stays: boolean;
}

/**
 * Requests whose answer is small, over connections that stay open. Node's own client takes as long for a request as a server
 * does for its answer; this one writes it and looks for the end of the answer, so what is measured is the server.
 */
export class Exchanges {
  readonly #to: NetConnectOpts;
  readonly #idle: Socket[] = [];
  readonly #all = new Set<Socket>();

  constructor(to: NetConnectOpts) {
    this.#to = to;
  }

  send(method: string, path: string, content: string | undefined): Promise<Exchanged> {
    const about = content === undefined ? '' : 'content-type: application/json\r\n';
    const length =
      content === undefined && method === 'GET' ? '' : `content-length: ${Buffer.byteLength(content ?? '')}\r\n`;
    const request = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${about}${length}\r\n${content ?? ''}`;
    const socket = this.#idle.pop() ?? this.#open();
    return new Promise((resolve, reject) => {
      let came: Buffer | undefined;
      const settle = (answer: Answer | undefined, error: Error | undefined) => {
        socket.off('data', onData).off('end', onEnd).off('error', onEnd);
        if (answer?.stays) this.#idle.push(socket);
        else socket.destroy();
        if (answer) resolve(answer);
        else reject(new Error(`${method} ${path}: ${error?.message ?? 'the connection ended before the answer'}`));
      };
      const onData = (chunk: Buffer) => {
        came = came ? Buffer.concat([came, chunk]) : chunk;
        const answer = readAnswer(came, false);
        if (answer) settle(answer, undefined);
      };
      const onEnd = (error?: Error) => settle(came && readAnswer(came, true), error);
      socket.on('data', onData).on('end', onEnd).on('error', onEnd);
      socket.write(request);
    });
  }

  close(): void {
    for (const socket of this.#all) socket.destroy();
  }

  #open(): Socket {
    const socket = connect(this.#to);
    socket.setNoDelay(true);
    this.#all.add(socket);
    // One that the server closes while it is not used is not used again.
    socket.once('close', () => {
      this.#all.delete(socket);
      const at = this.#idle.indexOf(socket);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    socket.on('error', () => {});
    return socket;
  }
}

interface Answer extends Exchanged {
  readonly stays: boolean;
}

/** Undefined while more is to come. */
function readAnswer(came: Buffer, isOver: boolean): Answer | undefined {
  const end = came.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const { status, type, length, stays } = readHead(came.toString('latin1', 0, end));
  const rest = came.subarray(end + 4);
  if (length === 'until-closed') return isOver ? { status, type, body: rest.toString(), stays: false } : undefined;
  const body = length === 'chunked' ? readChunks(rest) : rest.length >= length ? rest.subarray(0, length) : undefined;
  return body && { status, type, body: body.toString(), stays: stays && !isOver };
}

function readHead(text: string): Head {
  const status = Number(text.slice(9, 12));
  const field = (name: string) => new RegExp(`^${name}: *(.*?) *$`, 'im').exec(text)?.[1] ?? '';
  const said = field('content-length');
  const hasNone = status === 204 || status === 304;
  const length = hasNone
    ? 0
    : field('transfer-encoding') === 'chunked'
      ? 'chunked'
      : said === ''
        ? 'until-closed'
        : Number(said);
  return { status, type: field('content-type'), length, stays: field('connection').toLowerCase() !== 'close' };
}

/** Undefined while the last piece, which is empty, has not come. */
function readChunks(bytes: Buffer): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    at = end + 2 + size + 2;
    if (bytes.length < at) return undefined;
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(end + 2, end + 2 + size));
  }
}
