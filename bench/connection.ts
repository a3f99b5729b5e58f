import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { Exchanges } from './exchange.ts';

/** Requests over connections that stay open, to an address or a unix socket: what is measured is the answer. */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #to: RequestOptions;
  readonly #exchanges: Exchanges;

  constructor(to: { readonly url: string } | { readonly socketPath: string }) {
    if ('url' in to) {
      const { hostname, port } = new URL(to.url);
      this.#to = { hostname, port };
      this.#exchanges = new Exchanges({ host: hostname, port: Number(port) });
    } else {
      this.#to = { socketPath: to.socketPath };
      this.#exchanges = new Exchanges({ path: to.socketPath });
    }
  }

  /** The answer as JSON; one that is no success throws. */
  async json<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.#exchanges.send(method, path, body === undefined ? undefined : JSON.stringify(body));
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.slice(0, 500)}`);
    // Docker answers a stream of its own form to some of them, and nothing to others.
    return (answer.type.includes('json') ? JSON.parse(answer.body) : answer.body) as T;
  }

  /** The answer whose body is still to come. */
  async open(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    content: string | Buffer | undefined | AsyncIterable<Buffer> = undefined,
  ): Promise<IncomingMessage> {
    const sent = request({ ...this.#to, agent: this.#agent, method, path, headers });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve);
      sent.once('error', reject);
    });
    if (content !== undefined && typeof content === 'object' && !Buffer.isBuffer(content)) {
      for await (const piece of content) {
        if (!sent.write(piece)) await new Promise((resolve) => sent.once('drain', resolve));
      }
      sent.end();
    } else {
      sent.end(content);
    }
    const answer = await answered;
    if ((answer.statusCode ?? 500) < 400) return answer;
    const words: Buffer[] = [];
    for await (const chunk of answer) words.push(chunk as Buffer);
    throw new Error(`${method} ${path}: ${answer.statusCode} ${Buffer.concat(words).toString().slice(0, 500)}`);
  }

  close(): void {
    this.#agent.destroy();
    this.#exchanges.close();
  }
}
