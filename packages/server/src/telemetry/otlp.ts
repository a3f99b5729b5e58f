import type { Span } from './spans.ts';

/** Spans that wait to be sent. Beyond it they are dropped and counted: a collector that is away costs no memory. */
const maxWaiting = 4_096;
/** In one request. */
const maxTogether = 512;
const everyMs = 1_000;
const deadlineMs = 5_000;

export interface OtlpOptions {
  /** As OTEL_EXPORTER_OTLP_ENDPOINT: the address of the collector without the path of traces. */
  readonly endpoint: string;
  /** Sent with each request; they may hold a credential and are never logged. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly service: { readonly version: string; readonly instance: string };
  /** Told once for each time that the collector begins to fail. */
  readonly onTrouble?: ((why: string) => void) | undefined;
}

/**
 * Sends spans to a collector as OTLP over HTTP in JSON. By hand, because it is one POST of one form; the SDK for it is
 * thirty packages, a registry of its own and a patched runtime.
 */
export class OtlpExporter {
  readonly #options: OtlpOptions;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #waiting: Span[] = [];
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #closed = false;
  #dropped = 0;

  constructor(options: OtlpOptions) {
    this.#options = options;
    const { address, headers } = collectorOf(options.endpoint);
    this.#url = `${address}/v1/traces`;
    this.#headers = { ...headers, ...options.headers };
  }

  /** Spans that nobody will see. */
  get dropped(): number {
    return this.#dropped;
  }

  readonly take = (span: Span): void => {
    if (!span.place || this.#closed || this.#waiting.length >= maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(span);
    this.#timer ??= setTimeout(() => this.#send(), everyMs).unref();
  };

  /** Sends what is left, once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#sending;
    if (this.#waiting.length > 0) await this.#post(this.#waiting.splice(0, maxTogether));
    this.#dropped += this.#waiting.length;
  }

  #send(): void {
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
      this.#timer = undefined;
      if (this.#waiting.length > 0 && !this.#closed) this.#timer = setTimeout(() => this.#send(), everyMs).unref();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (!(await this.#post(this.#waiting.splice(0, maxTogether)))) return;
    }
  }

  /** Never throws: what could not be sent is dropped, and the next ones are tried. */
  async #post(spans: readonly Span[]): Promise<boolean> {
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.#headers },
        body: JSON.stringify(requestOf(spans, this.#options.service)),
        redirect: 'error',
        signal: AbortSignal.timeout(deadlineMs),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      this.#isFailing = false;
      return true;
    } catch (error) {
      this.#dropped += spans.length;
      if (!this.#isFailing) this.#options.onTrouble?.((error as Error).message);
      this.#isFailing = true;
      return false;
    }
  }
}

/** A name and password in the address are sent as a header, and are in no address that anybody is told. */
export function collectorOf(endpoint: string): { address: string; headers: Record<string, string> } {
  const url = new URL(endpoint);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const address = url.href.replace(/\/+$/, '');
  if (username === '' && password === '') return { address, headers: {} };
  const credential = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { address, headers: { authorization: `Basic ${Buffer.from(credential).toString('base64')}` } };
}

const kinds = { internal: 1, server: 2 } as const;

export function requestOf(spans: readonly Span[], service: OtlpOptions['service']): object {
  const resource = {
    'service.name': 'caisson',
    'service.version': service.version,
    'service.instance.id': service.instance,
  };
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'caisson', version: service.version }, spans: spans.map(spanOf) }],
      },
    ],
  };
}

function spanOf({ name, attributes, startedAt, seconds, failed, place }: Span): object {
  return {
    traceId: place?.trace,
    spanId: place?.span,
    ...(place?.parent === undefined ? {} : { parentSpanId: place.parent }),
    name,
    kind: place?.isEntry ? kinds.server : kinds.internal,
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(startedAt + seconds * 1000),
    attributes: attributesOf(attributes),
    status: failed === undefined ? { code: 1 } : { code: 2, message: failed },
  };
}

/** As text: a number of JavaScript does not hold so many digits. */
function nanoseconds(milliseconds: number): string {
  return (BigInt(Math.round(milliseconds * 1000)) * 1000n).toString();
}

function attributesOf(attributes: Span['attributes']): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value } }],
  );
}
