import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

/** A collector of traces of a test's own: takes OTLP over HTTP in JSON and keeps what it was sent. */
export interface OtlpReceiver {
  readonly endpoint: string;
  readonly spans: readonly SentSpan[];
  /** Every body as it came. */
  readonly bodies: readonly string[];
  close(): void;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: SentSpan[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    bodies.push(body);
    for (const group of JSON.parse(body).resourceSpans)
      for (const scope of group.scopeSpans) spans.push(...scope.spans);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ endpoint, spans, bodies },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** For each span of a name: its name and those of what it is below, up to where the trace begins. */
export function pathsOf(spans: readonly SentSpan[], name: string): string[][] {
  return spans.filter((span) => span.name === name).map((span) => pathOf(spans, span));
}

function pathOf(spans: readonly SentSpan[], span: SentSpan): string[] {
  const above = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return [...(above ? pathOf(spans, above) : []), span.name];
}
