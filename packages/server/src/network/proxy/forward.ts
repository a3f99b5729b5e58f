import { type ClientRequest, type IncomingMessage, type RequestOptions, request, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { hostText } from '../rules/host.ts';
import { pairsOf, passedOn, sizeOf } from './fields.ts';
import { flow } from './flow.ts';
import type { Passage } from './gate.ts';
import { flatFields, type Outgoing, outgoing, passageOf } from './outgoing.ts';
import { type Refused, refusalAnswer, refusalPhrase, refusalStatus } from './refused.ts';
import { NotReached } from './upstream-pool.ts';
import type { Visit } from './visit.ts';

/** The head of an answer. Real ones stay far below it; without a bound a server outside could fill our memory. */
export const answerHeadMax = 64 * 1024;
/** May be sent again when nobody can know whether it was heard. */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);
const triesMax = 3;

/** One request of a client and its answer. */
export async function forward(visit: Visit, req: IncomingMessage, res: ServerResponse): Promise<void> {
  res.once('close', visit.client.work());
  const prepared = await outgoing(visit, req);
  if (res.destroyed) return;
  if (visit.client.isSpoiled) {
    res.destroy();
    return;
  }
  if ('why' in prepared) return refuse(visit, req, res, prepared);
  new Exchange(visit, req, res, prepared).begin();
}

/** How a request is sent on a connection that the pool finds or makes. */
export function send(visit: Visit, { head, framing, wanted }: Outgoing, more: readonly string[] = []): ClientRequest {
  const options: RequestOptions & { wanted: Outgoing['wanted'] } = {
    agent: visit.gate.pool,
    method: head.method,
    path: head.target,
    headers: [...flatFields(head, framing), ...more],
    host: hostText(wanted.target.host),
    port: wanted.target.port,
    setHost: false,
    maxHeaderSize: answerHeadMax,
    wanted,
  };
  const sent = request(options);
  // A connection that was made before it was known what is spoken on it stands still until here.
  sent.once('socket', (socket) => socket.resume());
  return sent;
}

/** What a failure on the way to a server is called towards the client. */
export function refusedBy(error: Error, { wanted }: Outgoing, address: string | undefined): Refused {
  if (error instanceof NotReached) return error.refused;
  const { code } = error as NodeJS.ErrnoException;
  return { why: 'unreachable', target: wanted.target, address, detail: `The connection failed: ${code ?? 'closed'}.` };
}

/** Answers in the client's protocol. The journal knows. */
export function refuse({ gate, client }: Visit, req: IncomingMessage, res: ServerResponse, refused: Refused): void {
  gate.refused(client.protocol, refused);
  if (refused.why === 'request_malformed' || refused.why === 'host_mismatch') client.isSpoiled = true;
  answer(gate.sandbox, req, res, refused);
}

function answer(
  sandbox: Parameters<typeof refusalAnswer>[0],
  req: IncomingMessage,
  res: ServerResponse,
  refused: Refused,
) {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const { fields, text } = refusalAnswer(sandbox, refused);
  // What is left of a body is not worth reading, and who sends what cannot be read may have sent more of it.
  if (!req.complete || refused.why === 'request_malformed' || refused.why === 'host_mismatch')
    res.shouldKeepAlive = false;
  res.writeHead(refusalStatus[refused.why], refusalPhrase(refused.why), fields.flat());
  res.end(req.method === 'HEAD' ? undefined : text);
}

/** One request that may go out: body there, answer back, as fast as the slower end of each. */
class Exchange {
  readonly #visit: Visit;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #outgoing: Outgoing;
  readonly #passage: Passage;
  #upstream: ClientRequest | undefined;
  #tries = 0;
  #isAnswered = false;
  #isTold = false;

  constructor(visit: Visit, req: IncomingMessage, res: ServerResponse, prepared: Outgoing) {
    this.#visit = visit;
    this.#req = req;
    this.#res = res;
    this.#outgoing = prepared;
    this.#passage = passageOf(visit, prepared, (refused) => this.#stop(refused));
  }

  begin(): void {
    const { gate } = this.#visit;
    gate.open(this.#passage);
    this.#res.once('close', () => {
      gate.close(this.#passage);
      if (!this.#res.writableFinished) this.#upstream?.destroy();
    });
    this.#try();
  }

  #try(): void {
    this.#tries += 1;
    const { account } = this.#passage;
    try {
      const upstream = send(this.#visit, this.#outgoing);
      this.#upstream = upstream;
      upstream.on('error', (error) => this.#failed(upstream, error));
      upstream.once('socket', (socket) => this.#connected(socket, upstream));
      upstream.once('continue', () => this.#res.writeContinue());
      upstream.once('response', (response) => this.#answered(response));
      // Without a listener Node would end the connection and tell nobody.
      upstream.once('upgrade', (_, socket) => {
        socket.destroy();
        const detail = 'It answered with a protocol that nobody asked for.';
        this.#finish({ why: 'unreachable', target: this.#passage.target, detail });
      });
      const { head, framing } = this.#outgoing;
      account.sent(head.method.length + head.target.length + 12 + sizeOf([...head.fields]));
      if (framing === 'none') upstream.end();
      else this.#sendBody(upstream);
    } catch {
      const { target } = this.#outgoing.wanted;
      this.#finish({ why: 'request_malformed', target, detail: 'It cannot be written as a request.' });
    }
  }

  #sendBody(upstream: ClientRequest): void {
    const req = this.#req;
    req.once('end', () => {
      if (req.rawTrailers.length > 0) upstream.addTrailers([...pairsOf(req.rawTrailers)] as [string, string][]);
    });
    req.once('close', () => {
      if (!req.complete) upstream.destroy();
    });
    flow(req, upstream, this.#passage.account.sent);
  }

  #connected(socket: Duplex, upstream: ClientRequest): void {
    const { gate } = this.#visit;
    this.#passage.address = gate.pool.addressOf(socket);
    if (!upstream.reusedSocket) this.#passage.account.connected();
    if (this.#isTold) return;
    this.#isTold = true;
    gate.allowed(this.#passage, this.#outgoing.rule, this.#outgoing.secrets);
  }

  #answered(response: IncomingMessage): void {
    this.#isAnswered = true;
    const res = this.#res;
    const fields = pairsOf(response.rawHeaders);
    const { account } = this.#passage;
    account.received(sizeOf(fields) + 20);
    res.sendDate = false;
    try {
      res.writeHead(response.statusCode ?? 502, response.statusMessage ?? '', passedOn(fields).flat());
    } catch {
      this.#upstream?.destroy();
      this.#finish({ why: 'unreachable', target: this.#passage.target, detail: 'Its answer cannot be read.' });
      return;
    }
    response.once('end', () => {
      if (response.rawTrailers.length > 0) res.addTrailers([...pairsOf(response.rawTrailers)] as [string, string][]);
    });
    // An answer that is cut short must look so.
    response.on('error', () => res.destroy());
    response.once('close', () => {
      if (!response.complete) res.destroy();
    });
    flow(response, res, account.received);
  }

  #failed(upstream: ClientRequest, error: Error): void {
    if (this.#isAnswered || upstream !== this.#upstream) return;
    const { head, framing, wanted } = this.#outgoing;
    // The server closed a connection that waited here at the very moment in which it was used.
    const mayRepeat = upstream.reusedSocket && framing === 'none' && repeatable.has(head.method);
    if (mayRepeat && this.#tries < triesMax && !this.#res.destroyed) {
      this.#visit.gate.pool.drop(wanted);
      this.#try();
      return;
    }
    this.#finish(refusedBy(error, this.#outgoing, this.#passage.address));
  }

  #finish(refused: Refused): void {
    this.#isAnswered = true;
    this.#visit.gate.close(this.#passage);
    refuse(this.#visit, this.#req, this.#res, refused);
  }

  /** The gate ends it: the journal knows. */
  #stop(refused: Refused): void {
    this.#isAnswered = true;
    this.#upstream?.destroy();
    answer(this.#visit.gate.sandbox, this.#req, this.#res, refused);
  }
}
