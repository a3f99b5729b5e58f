/** Where in a trace something happens. */
export interface TracePlace {
  /** 32 hexadecimal digits. */
  readonly trace: string;
  /** 16 hexadecimal digits: the span that is the parent of what happens here. */
  readonly span: string;
}

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;

/** The header `traceparent` of the W3C. What is not of its form counts as absent: a trace is no reason to refuse. */
export function readTraceParent(header: string | readonly string[] | undefined): TracePlace | undefined {
  if (typeof header !== 'string' || header.length > 55) return undefined;
  const [, trace = '', span = ''] = form.exec(header) ?? [];
  return /[1-9a-f]/.test(trace) && /[1-9a-f]/.test(span) ? { trace, span } : undefined;
}

export function writeTraceParent({ trace, span }: TracePlace): string {
  return `00-${trace}-${span}-01`;
}
