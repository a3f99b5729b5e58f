/**
 * Server-sent events: bytes in whatever pieces → events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 * Written by hand because the browser's `EventSource` sends no headers, hence no key, and cannot be told where to resume.
 *
 * Laws
 * - How the bytes are cut into pieces never changes what comes out.
 * - A line ends with CR, LF or CRLF. A CR at the end of a piece ends its line at once: a live event is not held back
 *   until somebody sends the next byte.
 * - An event that the end of the stream cuts off is dropped: its id was not seen, so it is sent again.
 */
export interface SseEvent {
  readonly type: string;
  readonly data: string;
  /** The last id that the stream gave, by this event or an earlier one. */
  readonly id: string;
}

/** One event is at most this long; a stream that never ends its event would fill the memory. */
const maxEventChars = 8 * 1024 * 1024;

export class SseParser {
  /** `Last-Event-ID` of the next connection. A block with an id and no data moves it without an event. */
  lastEventId: string;
  /** What the server asks to wait before the next connection. */
  retryMs: number | undefined;

  readonly #decoder = new TextDecoder();
  #line = '';
  #skipLineFeed = false;
  #data: string[] = [];
  #dataChars = 0;
  #type = '';
  #id: string;

  constructor(lastEventId = '') {
    this.lastEventId = lastEventId;
    this.#id = lastEventId;
  }

  /** The events that this piece completes. Throws a `RangeError` when an event is too long. */
  push(bytes: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    const text = this.#decoder.decode(bytes, { stream: true });
    let from = 0;
    if (this.#skipLineFeed && text.length > 0) {
      if (text[0] === '\n') from = 1;
      this.#skipLineFeed = false;
    }
    for (;;) {
      const end = lineEnd(text, from);
      if (end === -1) break;
      const event = this.#takeLine(this.#line + text.slice(from, end));
      if (event) events.push(event);
      this.#line = '';
      from = end + 1;
      if (text[end] !== '\r') continue;
      if (from === text.length) this.#skipLineFeed = true;
      else if (text[from] === '\n') from += 1;
    }
    this.#line += text.slice(from);
    if (this.#line.length + this.#dataChars > maxEventChars) throw new RangeError('an event of the stream is too long');
    return events;
  }

  #takeLine(line: string): SseEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    // A comment: servers send them to keep the connection.
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const rest = colon === -1 ? '' : line.slice(colon + 1);
    const value = rest.startsWith(' ') ? rest.slice(1) : rest;
    if (field === 'data') {
      this.#data.push(value);
      this.#dataChars += value.length + 1;
    } else if (field === 'event') this.#type = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): SseEvent | undefined {
    const data = this.#data;
    const type = this.#type === '' ? 'message' : this.#type;
    this.lastEventId = this.#id;
    this.#data = [];
    this.#dataChars = 0;
    this.#type = '';
    return data.length === 0 ? undefined : { type, data: data.join('\n'), id: this.lastEventId };
  }
}

function lineEnd(text: string, from: number): number {
  const lineFeed = text.indexOf('\n', from);
  const end = lineFeed === -1 ? text.length : lineFeed;
  // Looking for the CR only as far as the LF keeps a piece of many lines linear.
  for (let at = from; at < end; at += 1) if (text.charCodeAt(at) === 0x0d) return at;
  return lineFeed;
}
