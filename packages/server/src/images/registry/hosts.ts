/** Only what stays on this machine may travel in the open. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, '');
  return name === 'localhost' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

export function registryAddress(host: string): URL {
  return new URL(`${isLoopback(host) ? 'http' : 'https'}://${host}/`);
}

/**
 * Whether a registry at `from` may send us to `to`: over TLS to anywhere but back into this machine, in the open only
 * from this machine to this machine. Without the first rule a registry could make the server ask its own neighbours.
 */
export function mayFollow(from: URL, to: URL): boolean {
  const local = isLoopback(to.host);
  if (isLoopback(from.host)) return to.protocol === 'https:' || (to.protocol === 'http:' && local);
  return to.protocol === 'https:' && !local;
}
