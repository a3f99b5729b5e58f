import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { CaissonError, problemMediaType, toProblem } from '@caisson/contract';

export interface RefusalPage {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

/** What a preview cannot give, for a program as a problem and for a person as a page. */
export function refusalPage(error: CaissonError, headers: IncomingHttpHeaders): RefusalPage {
  const status = statusOf(error);
  const wantsJson = /\bjson\b/i.test(headers.accept ?? '') || headers.upgrade !== undefined;
  const problem = toProblem(error);
  const body = wantsJson ? JSON.stringify({ ...problem, status }) : page(status, problem.detail, error.hint);
  return {
    status,
    headers: [
      'content-type',
      wantsJson ? problemMediaType : 'text/html; charset=utf-8',
      'content-length',
      String(Buffer.byteLength(body)),
      'cache-control',
      'no-store',
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'",
      ...(status === 401 ? ['www-authenticate', 'Bearer'] : []),
      ...(status === 429 || status === 503 ? ['retry-after', '2'] : []),
    ],
    body,
  };
}

/** One and the same for what is not there, what is somebody else's and what was asked for with the wrong token. */
export function nothingHere(): CaissonError {
  return new CaissonError('preview_refused');
}

/** Whatever was thrown on the way to the port, as the visitor may know it. */
export function visibleError(error: unknown, sandbox: string, port: number): CaissonError {
  if (!(error instanceof CaissonError)) return new CaissonError('internal', undefined, { cause: error });
  switch (error.code) {
    case 'sandbox_not_found':
    case 'sandbox_destroyed':
    case 'sandbox_destroying':
    case 'not_owner':
      return nothingHere();
    case 'port_refused':
      return new CaissonError('port_refused', `nothing listens on port ${port} in ${sandbox}`);
    default:
      return new CaissonError(error.code, error.message);
  }
}

/** To a visitor a sandbox that is not ready is a service that is away. */
function statusOf(error: CaissonError): number {
  return error.kind === 'conflict' || error.kind === 'not_supported' ? 503 : error.status;
}

function page(status: number, detail: string, hint: string): string {
  const title = `${status} ${STATUS_CODES[status] ?? ''}`;
  const style = 'body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:4em auto;padding:0 1em}p+p{color:#666}';
  return `<!doctype html><meta charset="utf-8"><title>${title}</title><style>${style}</style>
<h1>${title}</h1><p>${escaped(detail)}</p><p>${escaped(hint)}</p>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
