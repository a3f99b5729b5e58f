import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuseConnection } from './refuse-connection.ts';

/** Node's own limit holds for every request of a server alike, uploads of any size too; so bodies are timed here. */
export function limitBody(request: FastifyRequest, reply: FastifyReply, ms: number): void {
  const { headers, raw } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  const late = () => {
    if (raw.complete || raw.destroyed) return;
    // An answer that has begun cannot be followed by another one.
    if (reply.raw.headersSent) return void raw.destroy();
    refuseConnection(
      Object.assign(new Error('the body does not come'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
      raw.socket,
    );
  };
  const timer = setTimeout(late, ms).unref();
  raw.once('end', () => clearTimeout(timer));
  raw.once('close', () => clearTimeout(timer));
}
