import type { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { BoundSecrets } from '../egress.ts';

/** From the hello, which is there, to the end of the handshake. */
const handshakeMs = 10_000;

/**
 * Ends the TLS of a client here, with the certificate of this installation's authority. Only HTTP/1.1 is offered: it is
 * what secrets are put into.
 */
export async function endTls(stream: Duplex, secrets: BoundSecrets, serve: (plain: Duplex) => void): Promise<void> {
  const { cert, key } = await secrets.certificate();
  if (stream.destroyed) return;
  const secureContext = createSecureContext({ cert, key });
  const tls = new TLSSocket(stream, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
  const end = () => {
    clearTimeout(deadline);
    tls.destroy();
    stream.destroy();
  };
  const deadline = setTimeout(end, handshakeMs);
  tls.on('error', end);
  tls.once('close', () => {
    clearTimeout(deadline);
    stream.destroy();
  });
  tls.once('secure', () => {
    clearTimeout(deadline);
    serve(tls);
  });
}
