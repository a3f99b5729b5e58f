import type { Duplex } from 'node:stream';
import { ChannelTable } from '../protocol/channel-table.ts';
import { decodeMessage } from '../protocol/decode-message.ts';
import { encodeMessage } from '../protocol/encode-message.ts';
import { encodeFrame, encodeHeader, encodeWindow, readCredit } from '../protocol/frame.ts';
import type { FrameName } from '../protocol/frame-types.ts';
import { Keepalive } from '../protocol/keepalive.ts';
import {
  type Goaway,
  goaway,
  type Hello,
  open as openMessage,
  type Reset,
  reset as resetMessage,
  type Welcome,
  welcome as welcomeMessage,
} from '../protocol/messages.ts';
import type { Method } from '../protocol/methods/method.ts';
import { type MethodName, methods, type Params } from '../protocol/methods.ts';
import { ProtocolError } from '../protocol/protocol-error.ts';
import { FrameOutput } from './frame-output.ts';
import { type ChannelLink, GuestChannel } from './guest-channel.ts';
import { PieceDecoder } from './piece-decoder.ts';
import { countRead } from './read-garbage.ts';
import { ConnectionLost } from './translate-error.ts';

export interface OpenOptions {
  /** Receive window; the welcome's when absent. */
  readonly window?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Nobody waits for its answer: it need not leave at once. */
  readonly unhurried?: boolean | undefined;
}

export type AcceptChannel = (channel: GuestChannel, params: Uint8Array) => void;

/** How long a guest that said goodbye may take to leave. */
const drainMs = 5_000;
/** What may wait for a guest that does not read. Data waits elsewhere; this is answers and requests. */
const waitingMax = 16 * 1024 * 1024;

/**
 * One connection to one guest, after the handshake (`accept-guest.ts` does that). Everything the guest sends passes the
 * codec and the channel table; a violation ends the connection with a goaway.
 */
export class GuestConnection {
  readonly hello: Hello;
  /** Resolves, once, when the connection is over; never rejects. */
  readonly closed: Promise<ProtocolError | Error | undefined>;
  /** Called for each channel that the guest opens. Without it they are refused. */
  onOpen: AcceptChannel | undefined;
  readonly #stream: Duplex;
  readonly #output: FrameOutput;
  readonly #decoder: PieceDecoder;
  readonly #table: ChannelTable;
  readonly #channels = new Map<number, GuestChannel>();
  readonly #keepalive = new Keepalive(performance.now());
  readonly #link: ChannelLink;
  readonly #ownWindow: number;
  #timer: NodeJS.Timeout | undefined;
  #pinging: { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } | undefined;
  #resolveClosed: ((error: Error | undefined) => void) | undefined;
  #isClosed = false;
  #draining = false;
  #receiving: GuestChannel | undefined;
  #receivingLeft = 0;
  #record: Buffer[] = [];

  /** The stream stands after the hello; the first thing sent is the welcome. */
  constructor(stream: Duplex, hello: Hello, welcome: Welcome) {
    this.#stream = stream;
    this.#decoder = new PieceDecoder({
      onFrame: (type, channel, payload) => this.#onFrame(type, channel, payload),
      onData: (channel, length) => this.#onData(channel, length),
      onPiece: (piece) => this.#onPiece(piece),
    });
    this.hello = hello;
    this.#output = new FrameOutput(stream);
    this.#ownWindow = welcome.initialWindow;
    this.#table = new ChannelTable('server', {
      ownWindow: welcome.initialWindow,
      peerWindow: hello.initialWindow,
      ownChannels: hello.maxChannels,
      peerChannels: welcome.maxChannels,
    });
    this.#link = this.#makeLink();
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#output.push(encodeFrame('welcome', 0, encodeMessage(welcomeMessage, welcome)));
    this.#output.flush();
    stream.on('data', (chunk: Buffer) => this.#onChunk(chunk));
    stream.on('error', (error) => this.#close(error));
    stream.on('close', () => this.#close(undefined));
    stream.on('end', () => this.#close(undefined));
    stream.resume();
    this.#watchSilence();
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Whether something new may be begun on it: it is there, and neither side has said goodbye. */
  get mayOpen(): boolean {
    return this.isOpen && !this.#draining;
  }

  /** Channels that are open now. */
  get channelCount(): number {
    return this.#table.size;
  }

  open<M extends MethodName>(method: M, params: Params<M>, options: OpenOptions = {}): GuestChannel {
    const { number, input, params: definition } = methods[method];
    const payload = encodeMessage(definition, params as never);
    if (this.#isClosed || this.#draining) throw new ConnectionLost('the connection is over');
    if (!this.#table.mayOpen) throw new ProtocolError('too_many_channels', method);
    const window = options.window ?? this.#ownWindow;
    const id = this.#table.open(method, window);
    const { path, from } = params as { path?: unknown; from?: unknown };
    const subject = typeof path === 'string' ? path : typeof from === 'string' ? from : undefined;
    const channel = new GuestChannel(this.#link, id, method, window, subject);
    this.#channels.set(id, channel);
    const open = encodeMessage(openMessage, { method: number, input, window, params: payload });
    const header = encodeHeader('open', id, open.byteLength);
    if (options.unhurried === true) this.#output.pushLater(header, open);
    else this.#output.push(header, open);
    const stop = channel.obey(options.signal);
    if (options.signal !== undefined) channel.result.then(stop, stop);
    return channel;
  }

  /** One round trip, in milliseconds. Callers at the same time share it: one ping may be unanswered. */
  async ping(): Promise<number> {
    const began = performance.now();
    if (this.#isClosed) throw new ConnectionLost('the connection is over');
    if (this.#pinging === undefined) {
      this.#sendPing(this.#keepalive.ping());
      this.#output.flush();
    }
    await this.#pinging?.promise;
    return performance.now() - began;
  }

  /** Orderly: nothing new is opened, what is open may finish within the patience, then the stream is closed. */
  async close(reason: Goaway['reason'] = 'shutdown', patienceMs = 0): Promise<void> {
    if (this.#isClosed) return;
    this.#draining = true;
    this.#output.push(encodeFrame('goaway', 0, encodeMessage(goaway, { reason, message: reason })));
    this.#output.flush();
    const deadline = performance.now() + patienceMs;
    while (this.#table.size > 0 && !this.#isClosed && performance.now() < deadline) {
      const first = this.#channels.values().next().value;
      const left = deadline - performance.now();
      await Promise.race([first?.result.catch(() => {}), this.closed, new Promise((done) => setTimeout(done, left))]);
    }
    this.#close(undefined);
  }

  #makeLink(): ChannelLink {
    const table = this.#table;
    const output = this.#output;
    return {
      credit: (id) => table.credit(id),
      sendData: (id, payload) => {
        table.send(id, 'data', payload.byteLength);
        output.push(encodeHeader('data', id, payload.byteLength), payload);
      },
      sendEnd: (id) => this.#sendIfOpen(id, 'end', () => encodeFrame('end', id)),
      sendResult: (id, payload) => this.#sendIfOpen(id, 'result', () => encodeFrame('result', id, payload)),
      sendReset: (id, code, message) =>
        this.#sendIfOpen(id, 'reset', () => encodeFrame('reset', id, encodeMessage(resetMessage, { code, message }))),
      grant: (id, credit) => this.#sendIfOpen(id, 'window', () => encodeWindow(id, credit), credit),
      room: () => output.room(),
    };
  }

  /** The channel may have ended by a frame that crossed: then there is nothing to say. */
  #sendIfOpen(id: number, frame: 'end' | 'result' | 'reset' | 'window', encode: () => Buffer, size = 0): void {
    if (this.#isClosed || !this.#channels.has(id)) return;
    try {
      this.#table.send(id, frame, size);
    } catch (error) {
      if (error instanceof ProtocolError) return;
      throw error;
    }
    if (frame === 'reset') this.#channels.delete(id);
    this.#output.push(encode());
  }

  #onChunk(chunk: Buffer): void {
    if (this.#isClosed) return;
    this.#keepalive.heard(performance.now());
    countRead(chunk.byteLength);
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      this.#violated(error);
    }
  }

  #onFrame(type: Exclude<FrameName, 'data'>, channel: number, payload: Buffer): void {
    switch (type) {
      case 'ping':
        this.#output.push(encodeFrame('pong', 0, payload));
        this.#refuseFlood();
        return;
      case 'pong':
        this.#keepalive.pong(payload);
        this.#pinging?.resolve();
        this.#pinging = undefined;
        return;
      case 'goaway':
        decodeMessage(goaway, payload);
        this.#draining = true;
        // A guest that says goodbye and stays would keep everybody waiting who waits for its end.
        setTimeout(() => this.#close(new ConnectionLost('the guest has said goodbye')), drainMs).unref();
        return;
      case 'hello':
      case 'welcome':
      case 'refuse':
        throw new ProtocolError('handshake_order', type);
      case 'open':
        this.#onOpen(channel, payload);
        return;
      default:
        this.#onChannelFrame(channel, type, payload);
    }
  }

  /** Answers that the guest asks for and does not read are kept here, so there is a limit to what it may ask for. */
  #refuseFlood(): void {
    if (this.#output.waiting > waitingMax)
      throw new ProtocolError('unexpected_pong', 'more pings than their answers are read');
  }

  #onOpen(id: number, payload: Buffer): void {
    const { method, input, window, params } = decodeMessage(openMessage, payload);
    const name = this.#table.accept(id, { method, input, ...(window === undefined ? {} : { window }) });
    const refusal = name === undefined ? 'unknown_method' : this.#draining ? 'shutting_down' : undefined;
    if (name === undefined || refusal !== undefined || this.onOpen === undefined) {
      this.#table.send(id, 'reset');
      const reset = encodeMessage(resetMessage, { code: refusal ?? 'unknown_method', message: 'not taken' });
      this.#output.push(encodeFrame('reset', id, reset));
      return;
    }
    decodeMessage(methods[name].params, params);
    const channel = new GuestChannel(this.#link, id, name, this.#ownWindow);
    this.#channels.set(id, channel);
    this.onOpen(channel, params);
  }

  #onData(id: number, length: number): void {
    const { discard } = this.#table.receive(id, 'data', length);
    this.#receiving = discard ? undefined : this.#channels.get(id);
    this.#receivingLeft = length;
  }

  /** Records must be whole; of plain bytes the boundaries mean nothing. */
  #onPiece(piece: Buffer): void {
    const channel = this.#receiving;
    const isLast = piece.byteLength === this.#receivingLeft;
    this.#receivingLeft -= piece.byteLength;
    if (channel === undefined) return;
    const { output }: Method = methods[channel.method];
    if (output !== 'records') {
      channel.gotData(piece);
      return;
    }
    this.#record.push(piece);
    if (!isLast) return;
    channel.gotData(this.#record.length === 1 ? piece : Buffer.concat(this.#record));
    this.#record = [];
  }

  #onChannelFrame(id: number, type: 'result' | 'window' | 'end' | 'reset', payload: Buffer): void {
    const reset = type === 'reset' ? decodeMessage(resetMessage, payload) : undefined;
    const size = type === 'window' ? readCredit(payload) : payload.byteLength;
    const { discard, owesReset, over } = this.#table.receive(id, type, size);
    const channel = this.#channels.get(id);
    if (owesReset) this.#link.sendReset(id, 'cancelled', 'cancelled');
    if (over || owesReset) this.#channels.delete(id);
    if (channel === undefined || discard) return;
    this.#deliver(channel, type, payload, reset);
    // An early answer: the guest wants no more input.
    if (type === 'result' && !over && methods[channel.method].answer !== 'first') {
      channel.end();
      this.#channels.delete(id);
    }
  }

  #deliver(channel: GuestChannel, type: string, payload: Uint8Array, reset: Reset | undefined): void {
    if (type === 'result') channel.gotResult(payload);
    else if (type === 'window') channel.gotCredit(readCredit(payload));
    else if (type === 'end') channel.gotEnd();
    else if (reset !== undefined) channel.gotReset(reset);
  }

  #sendPing(payload: Buffer): void {
    let resolve: () => void = () => {};
    let reject: (error: Error) => void = () => {};
    const promise = new Promise<void>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    promise.catch(() => {});
    this.#pinging = { promise, resolve, reject };
    this.#output.push(encodeFrame('ping', 0, payload));
  }

  #watchSilence(): void {
    if (this.#isClosed) return;
    const next = this.#keepalive.check(performance.now());
    if (next.do === 'dead') {
      this.#close(new ConnectionLost('the guest has been silent for too long'));
      return;
    }
    if (next.do === 'ping') this.#sendPing(next.payload);
    const wait = next.do === 'wait' ? Math.max(10, next.at - performance.now()) : 1000;
    this.#timer = setTimeout(() => this.#watchSilence(), wait);
    this.#timer.unref();
  }

  #violated(error: unknown): void {
    if (!(error instanceof ProtocolError)) {
      this.#close(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    const message = `${error.code}: ${error.message}`.slice(0, 256);
    this.#output.push(encodeFrame('goaway', 0, encodeMessage(goaway, { reason: 'protocol_error', message })));
    this.#output.flush();
    this.#close(error);
  }

  #close(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#stream.end();
    // What was written last, a goaway above all, gets a moment; a peer that does not read gets no more than that.
    setTimeout(() => this.#stream.destroy(), 50).unref();
    const lost = new ConnectionLost(error?.message ?? 'the connection is over', { cause: error });
    for (const channel of this.#channels.values()) channel.fail(lost);
    this.#channels.clear();
    this.#pinging?.reject(lost);
    this.#output.release();
    this.#resolveClosed?.(error);
  }
}
