import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { CaissonError } from '@caisson/contract';
import type { LiveVisit } from './live-visits.ts';
import type { ConnectionUser, PortConnection } from './port-connection.ts';
import { type RequestFacts, requestHead } from './request-head.ts';
import { responseFields } from './response-head.ts';

export interface TunnelEnd {
  over(): void;
  /** The port was not reached; nothing has been answered yet. */
  refuse(error: unknown): void;
}

/** How long a port may take to agree, and how long both sides may be silent: sockets of pages that sleep say nothing. */
const answerMs = 60_000;
const silentMs = 3_600_000;
/** How long one side may leave what was sent to it unread. */
const unreadMs = 120_000;
/** How long a client may take to read why it was refused. */
const refusalMs = 5_000;

/**
 * A WebSocket, or whatever else a client and a port agree on. Not a byte of the client passes before the port has agreed:
 * what it refuses stays a request with one answer, and what came behind it is dropped.
 */
export class Tunnel implements ConnectionUser, LiveVisit {
  readonly sandbox: string;
  readonly port: number;
  readonly address: string;
  readonly #client: Duplex;
  readonly #early: Buffer;
  readonly #facts: RequestFacts;
  readonly #end: TunnelEnd;
  #connection: PortConnection | undefined;
  #isOver = false;
  #hasAnswer = false;
  #isOpen = false;
  #progressAt = performance.now();

  constructor(client: Duplex, early: Buffer, facts: RequestFacts, address: string, end: TunnelEnd) {
    this.#client = client;
    this.#early = early;
    this.#facts = facts;
    this.#end = end;
    this.address = address;
    this.sandbox = facts.target.sandbox;
    this.port = facts.target.port;
    client.once('close', () => this.cut());
  }

  static refuse(client: Duplex, status: number, headers: readonly string[], body: string): void {
    if (!client.writable) return void client.destroy();
    client.once('finish', () => client.destroy());
    setTimeout(() => client.destroy(), refusalMs).unref();
    client.end(`${headText(status, STATUS_CODES[status] ?? '', [...headers, 'connection', 'close'])}${body}`);
  }

  run(connection: PortConnection): void {
    if (this.#isOver) return void connection.destroy();
    this.#connection = connection;
    connection.use(this, this.#facts.method, true);
    connection.stream.write(requestHead(this.#facts), 'latin1');
  }

  head(status: number, reason: string, fields: string[]): void {
    this.#hasAnswer = true;
    this.#progressAt = performance.now();
    const kept = responseFields({ target: this.#facts.target, host: this.#facts.host, fields });
    if (status !== 101) {
      this.#client.write(headText(status, reason, [...kept, 'connection', 'close']), 'latin1');
      return;
    }
    const at = fields.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'upgrade');
    const protocol = at === -1 ? (this.#facts.upgrade ?? '') : (fields[at + 1] ?? '');
    this.#client.write(headText(101, reason, [...kept, 'connection', 'Upgrade', 'upgrade', protocol]), 'latin1');
    this.#isOpen = true;
  }

  data(bytes: Buffer, isLast: boolean): void {
    this.#progressAt = performance.now();
    const { stream } = this.#connection ?? {};
    if (!this.#client.write(bytes)) {
      stream?.pause();
      this.#client.once('drain', () => stream?.resume());
    }
    if (isLast) this.end();
  }

  end(): void {
    this.#client.end();
    this.#client.once('finish', () => this.cut());
  }

  caughtUp(): void {
    if (!this.#isOpen || this.#isOver || !this.#connection) return;
    const connection = this.#connection;
    const rest = connection.detach();
    const { stream } = connection;
    stream.on('error', () => this.cut());
    stream.on('close', () => this.cut());
    if (rest.length > 0) this.#client.write(rest);
    if (this.#early.length > 0) stream.write(this.#early);
    this.#carry(stream, this.#client);
    this.#carry(this.#client, stream);
  }

  failed(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#hasAnswer) this.#client.destroy();
    else this.#end.refuse(error);
    this.#connection?.destroy();
    this.#end.over();
  }

  cut(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client.destroy();
    this.#connection?.destroy();
    this.#end.over();
  }

  look(now: number): void {
    const still = now - this.#progressAt;
    if (!this.#hasAnswer && this.#connection && still > answerMs)
      return void this.failed(new CaissonError('request_timeout', 'the port did not answer in time'));
    const isUnread = this.#client.writableNeedDrain || this.#connection?.stream.writableNeedDrain === true;
    if (still > (isUnread ? unreadMs : silentMs)) this.cut();
  }

  /** Half-closed as the two sides are, and at the pace of the slower one. */
  #carry(from: Duplex, to: Duplex): void {
    from.on('data', (bytes: Buffer) => {
      this.#progressAt = performance.now();
      if (to.write(bytes)) return;
      from.pause();
      to.once('drain', () => {
        this.#progressAt = performance.now();
        from.resume();
      });
    });
    from.on('end', () => {
      if (to.writable) to.end();
    });
    from.resume();
  }
}

function headText(status: number, reason: string, fields: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`;
  for (let at = 0; at + 1 < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}\r\n`;
}
