import { connect } from 'node:net';
import type { WebSocketFactory, WebSocketLike } from '@caisson/sdk';
import { WebSocket } from 'ws';

/** How long a server may take to agree to the end; then the connection is cut, or a hung one would keep the command. */
const farewellMs = 1_000;
const handshakeTimeout = 10_000;
/** More than any frame of output. */
const maxPayload = 4 * 1024 * 1024;

/** WebSockets to a server, over its unix socket when there is one. */
export function webSockets(socketPath?: string): WebSocketFactory {
  // Not `ws+unix:`, which ends the path of the socket at its first colon.
  const overSocket = socketPath === undefined ? {} : { createConnection: () => connect(socketPath) };
  return (url, protocols) => {
    const options = { perMessageDeflate: false, handshakeTimeout, maxPayload, ...overSocket };
    return new EndingSocket(url, protocols, options as object) as unknown as WebSocketLike;
  };
}

class EndingSocket extends WebSocket {
  override close(code?: number, reason?: string): void {
    super.close(code, reason);
    setTimeout(() => this.terminate(), farewellMs).unref();
  }
}
