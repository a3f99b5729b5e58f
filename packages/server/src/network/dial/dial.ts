import { connect, type Socket } from 'node:net';

/** For each address. A host that is there answers in well under a second. */
const dialMs = 10_000;
/** For all of them together. */
const dialAllMs = 30_000;

/** The first of the addresses that answers, and a connection to it; undefined when none does. `left`: nobody waits for it. */
export async function dialFirst(
  addresses: readonly string[],
  port: number,
  left: AbortSignal,
): Promise<{ readonly socket: Socket; readonly address: string } | undefined> {
  const end = performance.now() + dialAllMs;
  for (const address of addresses) {
    const ms = Math.min(dialMs, end - performance.now());
    if (left.aborted || ms <= 0) return undefined;
    const socket = await dial(address, port, ms, left);
    if (socket) return { socket, address };
  }
  return undefined;
}

/** To exactly this address: nothing is looked up. */
function dial(address: string, port: number, ms: number, left: AbortSignal): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true, autoSelectFamily: false });
    const settle = (isConnected: boolean) => {
      clearTimeout(deadline);
      left.removeEventListener('abort', fail);
      if (!isConnected) socket.destroy();
      resolve(isConnected ? socket : undefined);
    };
    const fail = () => settle(false);
    const deadline = setTimeout(fail, ms);
    left.addEventListener('abort', fail, { once: true });
    // It stays: whoever is given the socket may not have listened yet when it fails.
    socket.on('error', fail);
    socket.once('connect', () => settle(true));
  });
}
