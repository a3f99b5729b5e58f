import { setMaxListeners } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { CaissonError } from '@caisson/contract';
import type { PortConnection, SandboxHandle } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import type { ForwardOptions, ForwardPorts } from '../commands/port.ts';
import { findSandbox } from '../find-sandbox.ts';

/** As many at once as a sandbox may be asked for; who comes later is let go. */
const maxConnections = 256;

/** Listens here and carries each connection to a port inside, until Ctrl-C. */
export async function forward(
  ref: string,
  ports: ForwardPorts,
  options: ForwardOptions,
  context: CommandContext,
): Promise<void> {
  const { screen } = context;
  const sandbox = await findSandbox(await context.connect(options, { webSockets: true }), ref);
  const ending = new AbortController();
  const forwarder = new Forwarder(sandbox, ports.inside, ending.signal, (text) => screen.note(text));
  const local = await forwarder.listen(options.bind, ports.local);
  const from = `${options.bind.includes(':') ? `[${options.bind}]` : options.bind}:${local}`;
  screen.result({ sandbox: sandbox.id, port: ports.inside, listening: from }, () => {
    return `${from} leads to port ${ports.inside} of ${ref}; Ctrl-C ends it`;
  });
  await asked();
  ending.abort();
  await forwarder.close();
}

/** Local connections to one port inside, each over a WebSocket of its own. */
export class Forwarder {
  readonly #sandbox: SandboxHandle;
  readonly #port: number;
  readonly #signal: AbortSignal;
  readonly #note: (text: string) => void;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  /** The last complaint, told once until it is another or over. */
  #trouble: string | undefined;

  constructor(sandbox: SandboxHandle, port: number, signal: AbortSignal, note: (text: string) => void) {
    this.#sandbox = sandbox;
    this.#port = port;
    this.#signal = signal;
    // Each connection listens to it.
    setMaxListeners(0, signal);
    this.#note = note;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => this.#take(socket));
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => {
        const code = error.code === 'EADDRINUSE' ? 'address_in_use' : 'address_unavailable';
        reject(
          new CaissonError(code, `cannot listen on ${host}:${port}: ${error.message}`, {
            hint: 'Choose another port, such as 0:3000 for any that is free, or another `--bind`.',
          }),
        );
      });
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #take(socket: Socket): void {
    socket.on('error', () => {});
    if (this.#sockets.size >= maxConnections) return void socket.destroy();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    this.#carry(socket).catch((error: Error) => {
      socket.destroy();
      this.#tell(error.message);
    });
  }

  async #carry(socket: Socket): Promise<void> {
    const connection = await this.#sandbox.ports.connect(this.#port, { signal: this.#signal });
    if (this.#trouble !== undefined) {
      this.#trouble = undefined;
      this.#note(`port ${this.#port} of ${this.#sandbox.name ?? this.#sandbox.id} answers again`);
    }
    socket.once('close', () => connection.close());
    await Promise.all([outward(socket, connection), inward(connection, socket)]);
    // Both directions have ended.
    connection.close();
  }

  #tell(trouble: string): void {
    if (this.#signal.aborted || this.#trouble === trouble) return;
    this.#trouble = trouble;
    this.#note(trouble);
  }
}

async function outward(socket: Socket, connection: PortConnection): Promise<void> {
  try {
    for await (const bytes of socket) await connection.write(bytes as Buffer);
  } catch {
    // The local end broke, or the other: either way the rest of it is closed below.
    connection.close();
    return;
  }
  connection.end();
}

async function inward(connection: PortConnection, socket: Socket): Promise<void> {
  try {
    for await (const bytes of connection) {
      if (!socket.write(bytes)) await drained(socket);
    }
    socket.end();
  } catch {
    socket.destroy();
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      socket.off('drain', go);
      socket.off('close', go);
      resolve();
    };
    socket.on('drain', go);
    socket.on('close', go);
  });
}

function asked(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
