import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { readTarget } from '../rules/host.ts';
import { type Client, headMs } from './client.ts';
import { pairsOf, valuesOf } from './fields.ts';
import { endWith } from './flow.ts';
import { forward } from './forward.ts';
import type { Gate } from './gate.ts';
import { printable, type Refused, refusalBytes } from './refused.ts';
import { isSame } from './request-target.ts';
import { reach, Tunnel } from './tunnel.ts';
import { upgrade } from './upgrade.ts';
import type { Fixed, Visit } from './visit.ts';

/** The head of a request. Cookies and tokens of real programs stay below it. */
const headMax = 64 * 1024;
/** Requests of one client at the same time: what programs that do not wait for answers really use is ten. */
const pipelinedMax = 64;
/** How often Node looks for heads that take too long. */
const lookEveryMs = 5_000;

/**
 * Reads HTTP from inside, with Node's parser in its strict mode, and writes it anew: what a request means is decided once,
 * and what leaves can be read in no other way.
 */
export class HttpDoor {
  readonly #server: Server;
  readonly #visits = new WeakMap<Duplex, Visit>();

  constructor() {
    this.#server = createServer({
      maxHeaderSize: headMax,
      headersTimeout: headMs,
      // A body may take as long as it moves; what does not move is ended by the gate.
      requestTimeout: 0,
      connectionsCheckingInterval: lookEveryMs,
      keepAliveTimeout: 60_000,
      requireHostHeader: false,
      insecureHTTPParser: false,
    });
    // Those beyond the bound would be left out silently; the size of the head bounds them.
    this.#server.maxHeadersCount = 0;
    this.#server.on('request', (req, res) => this.#request(req, res));
    this.#server.on('checkContinue', (req, res) => this.#request(req, res));
    this.#server.on('connect', (req, stream, early) => this.#connect(req, stream, early));
    this.#server.on('upgrade', (req, stream, early) => this.#upgrade(req, stream, early));
    this.#server.on('clientError', (error, stream) => this.#unreadable(error, stream));
  }

  /** A client that will say with each request what it is for. */
  enter(visit: Visit): void {
    this.#serve(visit);
  }

  /** What a client speaks inside a tunnel. */
  enterFixed(gate: Gate, client: Client, stream: Duplex, fixed: Fixed): void {
    const visit = { gate, client, fixed, serveFixed: () => stream.destroy() };
    this.#serve(visit, stream);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #serve(visit: Visit, stream = visit.client.stream): void {
    this.#visits.set(stream, visit);
    this.#server.emit('connection', stream);
    // Whoever looked at its first bytes has stopped it.
    stream.resume();
  }

  #request(req: IncomingMessage, res: ServerResponse): void {
    const visit = this.#visits.get(req.socket);
    if (!visit || visit.client.working >= pipelinedMax) {
      req.socket.destroy();
      return;
    }
    forward(visit, req, res).catch((error: unknown) => this.#failed(visit, req.socket, error));
  }

  #connect(req: IncomingMessage, stream: Duplex, early: Buffer): void {
    const visit = this.#visits.get(stream);
    if (!visit) {
      stream.destroy();
      return;
    }
    stream.on('error', () => {});
    this.#tunnel(visit, req, stream, early).catch((error: unknown) => this.#failed(visit, stream, error));
  }

  async #tunnel(visit: Visit, req: IncomingMessage, stream: Duplex, early: Buffer): Promise<void> {
    const { gate, client } = visit;
    // It speaks of itself as a tunnel from here on.
    const asTunnel: Visit = { ...visit, client: client.as('connect') };
    const done = client.work();
    try {
      const asked = readConnect(req, visit);
      const reached = 'why' in asked ? asked : await reach(asTunnel, asked.target);
      if ('why' in reached) {
        gate.refused('connect', reached);
        endWith(stream, refusalBytes(gate.sandbox, reached));
        return;
      }
      if (stream.destroyed) {
        reached.upstream.socket.destroy();
        return;
      }
      stream.write('HTTP/1.1 200 Connection established\r\n\r\n');
      new Tunnel(asTunnel, stream, reached, early);
    } finally {
      done();
    }
  }

  #upgrade(req: IncomingMessage, stream: Duplex, early: Buffer): void {
    const visit = this.#visits.get(stream);
    if (!visit) {
      stream.destroy();
      return;
    }
    stream.on('error', () => {});
    upgrade(visit, req, stream, early).catch((error: unknown) => this.#failed(visit, stream, error));
  }

  /** The parser gave up: there is no request to answer, only a connection. */
  #unreadable(error: NodeJS.ErrnoException, stream: Duplex): void {
    const visit = this.#visits.get(stream);
    if (!visit || !stream.writable || error.code === 'ECONNRESET') {
      stream.destroy();
      return;
    }
    const { gate, client, fixed } = visit;
    const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    // One that never spoke has asked for nothing.
    if (isLate) {
      stream.destroy();
      return;
    }
    const refused: Refused = { why: 'request_malformed', target: fixed?.target, detail: parserWords(error) };
    gate.refused(client.protocol, refused);
    // Answers to earlier requests may be under way on it; then nothing can be said in between.
    if (client.working > 0) stream.destroy();
    else endWith(stream, refusalBytes(gate.sandbox, refused));
  }

  #failed({ gate }: Visit, stream: Duplex, error: unknown): void {
    gate.parts.log.warn({ err: error, sandbox: gate.sandbox }, 'a request out of a sandbox failed');
    stream.destroy();
  }
}

function readConnect(
  req: IncomingMessage,
  visit: Visit,
): { target: NonNullable<ReturnType<typeof readTarget>> } | Refused {
  const url = req.url ?? '';
  if (visit.fixed) return { why: 'protocol_unsupported', sent: printable(url) };
  const target = readTarget(url);
  if (!target) return { why: 'name_invalid', sent: printable(url) };
  const hosts = valuesOf(pairsOf(req.rawHeaders), 'host');
  const [host] = hosts;
  const named = host === undefined ? target : readTarget(host, target.port);
  if (hosts.length > 1 || !named || !isSame(named, target)) return { why: 'host_mismatch', target };
  return { target };
}

/** What the parser says has no bytes of the request in it. */
function parserWords(error: NodeJS.ErrnoException): string {
  return /^HPE_[A-Z_]+$/.test(error.code ?? '') ? `The parser says ${error.code}.` : 'It cannot be parsed.';
}
