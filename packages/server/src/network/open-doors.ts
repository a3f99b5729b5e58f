import type { GuestClient } from '@caisson/guest';
import { proxyEnv, proxyPorts } from './proxy-ports.ts';

/** What a kernel lets a program begin with. */
const environMax = 4 * 1024 * 1024;

/** The listeners inside, through which programs reach the proxy. They may be there already. */
export async function listenInside(guest: GuestClient, signal?: AbortSignal): Promise<void> {
  await Promise.all([
    guest.ports.listenProxy('http', proxyPorts.http, signal),
    guest.ports.listenProxy('socks', proxyPorts.socks, signal),
  ]);
}

/**
 * For a sandbox whose network was off when it began: the listeners, and the variables for what is started from now on.
 * What the image or the blueprint says of proxies stays as it is.
 */
export async function openDoors(guest: GuestClient, signal?: AbortSignal): Promise<void> {
  await listenInside(guest, signal);
  // The guest's own, with which every process begins. Where it cannot be had, nothing is known to be in the way.
  const own = guest.files.readAll('/proc/self/environ', { user: 'root', maxBytes: environMax, signal });
  const environ = await own.catch(() => Buffer.alloc(0));
  const present = new Set(environ.toString().split('\0').map(nameOf));
  guest.processes.baseEnv = Object.fromEntries(Object.entries(proxyEnv).filter(([name]) => !present.has(name)));
}

function nameOf(variable: string): string {
  return variable.split('=', 1)[0] ?? '';
}
