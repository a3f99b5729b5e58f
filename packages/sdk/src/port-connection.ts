import { CaissonError, portWindowBytes, type Route, routes } from '@caisson/contract';
import type { Connection } from './connection.ts';
import type { WebSocketLike } from './web-socket.ts';

/** What has been taken is told to the server in steps of this: a fraction of what it sends ahead. */
const ackBytes = portWindowBytes / 4;
const messageBytes = 64 * 1024;

type Params = { readonly id: string; readonly port: string };

/**
 * One connection to a port inside a sandbox. Iterate over it for what comes, once; the iteration ends when the port has
 * ended its direction, and throws when the connection breaks. Each direction ends on its own.
 */
export class PortConnection implements AsyncIterable<Uint8Array> {
  readonly #socket: WebSocketLike;
  readonly #messages: Uint8Array[] = [];
  #wake: (() => void) | undefined;
  #room: (() => void) | undefined;
  #sent = 0;
  #accepted = 0;
  #taken = 0;
  #acknowledged = 0;
  #hasEnded = false;
  #isClosed = false;

  constructor(socket: WebSocketLike) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      if (typeof data === 'string') {
        this.#accepted = Number(data);
        this.#room?.();
      }
      if (!(data instanceof ArrayBuffer)) return;
      if (data.byteLength === 0) this.#hasEnded = true;
      else this.#messages.push(new Uint8Array(data));
      this.#wake?.();
    });
    const close = () => {
      this.#isClosed = true;
      this.#wake?.();
      this.#room?.();
    };
    socket.addEventListener('close', close);
    socket.addEventListener('error', close);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) {
        yield message;
        this.#acknowledge(message.byteLength);
      } else if (this.#hasEnded) return;
      else if (this.#isClosed) throw new CaissonError('interrupted', 'the connection to the port broke');
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** Resolves when there is room for more: a port that does not read makes the writer wait. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.byteLength; from += messageBytes) {
      while (!this.#isClosed && this.#sent - this.#accepted + messageBytes > portWindowBytes) {
        await new Promise<void>((resolve) => {
          this.#room = resolve;
        });
      }
      if (this.#isClosed) throw new CaissonError('interrupted', 'the connection to the port is closed');
      // A copy: the caller may use its bytes again before they are sent.
      const part = bytes.slice(from, from + messageBytes);
      this.#sent += part.byteLength;
      this.#socket.send(part);
    }
  }

  /** Ends our direction; what comes goes on. */
  end(): void {
    if (!this.#isClosed) this.#socket.send(new Uint8Array(0));
  }

  close(): void {
    this.#socket.close();
  }

  #acknowledge(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken - this.#acknowledged < ackBytes || this.#isClosed) return;
    this.#acknowledged = this.#taken;
    this.#socket.send(String(this.#taken));
  }
}

export async function openPortConnection(
  connection: Connection,
  params: Params,
  signal: AbortSignal | undefined,
): Promise<PortConnection> {
  signal?.throwIfAborted();
  const route: Route = routes['port.connect'];
  const socket = connection.transport.openSocket(route, { params, query: { acks: true } });
  if (socket === undefined)
    throw new CaissonError('websocket_needed', 'connections to ports need WebSockets', {
      hint: 'Give the client a `webSocket` factory, such as one of the package ws.',
    });
  const made = new PortConnection(socket);
  const abort = () => socket.close();
  signal?.addEventListener('abort', abort, { once: true });
  socket.addEventListener('close', () => signal?.removeEventListener('abort', abort));
  try {
    await opened(socket);
    return made;
  } catch (error) {
    signal?.throwIfAborted();
    throw await whyRefused(connection, params, error);
  }
}

function opened(socket: WebSocketLike): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = () => reject(new CaissonError('server_unreachable', 'the connection to the port was not made'));
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', refused);
    socket.addEventListener('close', refused);
  });
}

/** A WebSocket that is refused does not say why; the same question over a request does. */
async function whyRefused(connection: Connection, params: Params, error: unknown): Promise<unknown> {
  try {
    const body = { timeoutSeconds: 0 };
    const { listening } = await connection.call('port.wait', { params, body });
    if (listening) return error;
    return new CaissonError('port_refused', `nothing listens on port ${params.port} in ${params.id}`);
  } catch (cause) {
    return cause;
  }
}
