import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { CaissonError, type ErrorCode, problemMediaType, toProblem } from '@caisson/contract';

const codes: Record<string, { code: ErrorCode; status: number }> = {
  HPE_HEADER_OVERFLOW: { code: 'headers_too_large', status: 431 },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request_timeout', status: 408 },
};

/** What Node refuses before there is a request: broken HTTP, headers without end, a client that never finishes. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { code, status } = codes[error.code ?? ''] ?? { code: 'request_invalid', status: 400 };
  const body = JSON.stringify({ ...toProblem(new CaissonError(code)), status });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    `content-type: ${problemMediaType}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
