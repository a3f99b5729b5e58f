import { setMaxListeners } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { NotDelivered } from '../events/sink.ts';
import type { Trust } from '../network/proxy/trust.ts';
import { CheckedAgent } from './checked-agent.ts';
import type { Reach } from './reach.ts';
import { sign } from './signature.ts';

/** From the first byte to the end of the answer. Receivers are to put events aside and answer. */
const deliveryMs = 10_000;
/** Of an answer's body, of which nothing is used; more of it and the connection is closed. */
const answerBytesMax = 64 * 1024;
const shutDown = 'the server is shutting down';

export interface PosterOptions {
  readonly url: string;
  readonly reach: Pick<Reach, 'find'>;
  readonly trust: Trust;
  readonly version: string;
  /** What signs at the moment: the secret, and while it is being replaced the old one too. */
  secrets(): readonly string[];
  /** How many connections at a time. */
  readonly sockets: number;
}

export interface Posted {
  /** The same each time it is sent: the receiver tells repetitions by it. */
  readonly id: string;
  readonly contentType: string;
  readonly body: string;
}

/** Posts to one address, signed. Only an answer of success counts; no redirect is followed. */
export class SignedPoster {
  readonly #options: PosterOptions;
  readonly #url: URL;
  readonly #closed = new AbortController();
  readonly #underWay = new Set<() => void>();
  #isClosed = false;
  readonly #agent: CheckedAgent;

  constructor(options: PosterOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    const { reach, trust, sockets } = options;
    // Every connection that is being made listens to it.
    setMaxListeners(0, this.#closed.signal);
    this.#agent = new CheckedAgent(this.#url, { reach, trust, ended: this.#closed.signal, sockets });
  }

  /** The status of the answer; throws `NotDelivered` unless it is one of success. */
  async post({ id, contentType, body }: Posted, signal: AbortSignal): Promise<number> {
    const seconds = Math.floor(Date.now() / 1000);
    const headers = {
      'content-type': contentType,
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': `caisson/${this.#options.version}`,
      ...sign(this.#options.secrets(), id, seconds, body),
    };
    const end = performance.now() + deliveryMs;
    for (;;) {
      if (signal.aborted || this.#isClosed) throw new NotDelivered(shutDown);
      const sending = this.#request(headers);
      try {
        return succeeded(await this.#answer(sending, body, end, signal));
      } catch (error) {
        // The other side closed a connection that was kept, just then: nothing of this was read.
        if (sending.reusedSocket && isReset(error)) continue;
        throw translate(error, this.#url.host);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closed.abort();
    for (const leave of [...this.#underWay]) leave();
    this.#agent.destroy();
  }

  #request(headers: Record<string, string>): ClientRequest {
    const { hostname, port, pathname, search } = this.#url;
    const path = `${pathname}${search}`;
    return request({ agent: this.#agent, method: 'POST', headers, hostname, port, path });
  }

  /** Its status, once the whole of it has come; until the deadline, the signal or the end of the sink. */
  #answer(sending: ClientRequest, body: string, end: number, signal: AbortSignal): Promise<number> {
    return new Promise<number>((resolve, reject) => {
      const giveUp = (why: string) => {
        settle(() => reject(new NotDelivered(why)));
        sending.destroy();
      };
      const leave = () => giveUp(shutDown);
      const late = `${this.#url.host} did not answer within ${deliveryMs / 1000} s`;
      const timer = setTimeout(() => giveUp(late), Math.max(0, end - performance.now()));
      signal.addEventListener('abort', leave, { once: true });
      this.#underWay.add(leave);
      let isSettled = false;
      const settle = (end: () => void) => {
        if (isSettled) return;
        isSettled = true;
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        this.#underWay.delete(leave);
        end();
      };
      // It stays: a connection may fail after its answer.
      sending.on('error', (error) => settle(() => reject(error)));
      sending.once('close', () => settle(() => reject(new NotDelivered(`${this.#url.host} closed the connection`))));
      sending.once('response', (answer) => drain(answer, (status) => settle(() => resolve(status))));
      sending.end(body);
    });
  }
}

/** Reads an answer to its end, of which nothing is used but the status. */
function drain(answer: IncomingMessage, ended: (status: number) => void): void {
  const status = answer.statusCode ?? 0;
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > answerBytesMax) answer.destroy();
  });
  answer.on('error', () => ended(status));
  answer.once('close', () => ended(status));
  answer.once('end', () => ended(status));
}

function succeeded(status: number): number {
  if (status >= 200 && status < 300) return status;
  const words = status >= 300 && status < 400 ? '; redirects are not followed' : '';
  throw new NotAccepted(status, `it answered ${status}${words}`);
}

/** It answered, and not with success. */
export class NotAccepted extends NotDelivered {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function translate(error: unknown, host: string): NotDelivered {
  if (error instanceof NotDelivered) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new NotDelivered(`the connection to ${host} failed: ${code ?? message}`);
}
