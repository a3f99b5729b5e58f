import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CaissonError } from '@caisson/contract';
import { parseListen } from './api/listener.ts';
import { createPreviewServer } from './preview/preview-server.ts';
import type { Previews } from './preview/previews.ts';

/** Addresses for previews alone. Gives where they are, and how to close them. */
export async function listenPreviews(
  previews: Previews,
  wanted: readonly string[],
): Promise<{ addresses: string[]; close: () => Promise<void> }> {
  const servers: Server[] = [];
  const close = async () => {
    await Promise.all(servers.map(closeServer));
  };
  const addresses: string[] = [];
  try {
    for (const text of wanted) {
      const listener = parseListen(text);
      if (listener.kind !== 'tcp') continue;
      const server = createPreviewServer(previews.door);
      servers.push(server);
      const port = await listen(server, listener.host, listener.port);
      previews.urls.listensAt(listener.host, port);
      addresses.push(`http://${listener.host.includes(':') ? `[${listener.host}]` : listener.host}:${port}`);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { addresses, close };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const code = error.code === 'EADDRINUSE' ? 'address_in_use' : 'address_unavailable';
      reject(
        new CaissonError(code, `cannot listen on ${host}:${port} for previews: ${error.message}`, { cause: error }),
      );
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/** How often a server that closes looks for connections whose last request is over, and when it stops waiting. */
const lookMs = 50;
const patienceMs = 2_000;

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const look = setInterval(() => server.closeIdleConnections(), lookMs);
  const end = setTimeout(() => server.closeAllConnections(), patienceMs);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  clearInterval(look);
  clearTimeout(end);
}
