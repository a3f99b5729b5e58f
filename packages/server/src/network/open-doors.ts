import type { GuestClient } from '@caisson/guest';
import { proxyEnv, proxyPorts } from './proxy-ports.ts';

/** The listeners inside, through which programs reach the proxy. They may be there already. */
export async function listenInside(guest: GuestClient, signal?: AbortSignal): Promise<void> {
  await Promise.all([
    guest.ports.listenProxy('http', proxyPorts.http, signal),
    guest.ports.listenProxy('socks', proxyPorts.socks, signal),
  ]);
}

/** For a sandbox whose network was off when it began: the listeners, and the variables for what is started from now on. */
export async function openLate(guest: GuestClient, signal?: AbortSignal): Promise<void> {
  guest.processes.baseEnv = proxyEnv;
  await listenInside(guest, signal);
}
