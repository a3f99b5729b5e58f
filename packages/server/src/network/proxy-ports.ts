/** Where programs inside find the way out: loopback ports below the range from which kernels give out ports of their own. */
export const proxyPorts = { http: 29_080, socks: 29_081 } as const;

const httpProxy = `http://127.0.0.1:${proxyPorts.http}`;
const direct = 'localhost,127.0.0.1,::1';

/**
 * What tells programs inside of the proxy. `ALL_PROXY` is the HTTP one too: several clients fail at the sight of a SOCKS
 * address without a library that is rarely there.
 */
export const proxyEnv: Readonly<Record<string, string>> = {
  HTTP_PROXY: httpProxy,
  HTTPS_PROXY: httpProxy,
  ALL_PROXY: httpProxy,
  NO_PROXY: direct,
  http_proxy: httpProxy,
  https_proxy: httpProxy,
  all_proxy: httpProxy,
  no_proxy: direct,
  CAISSON_SOCKS_PROXY: `socks5h://127.0.0.1:${proxyPorts.socks}`,
  NODE_USE_ENV_PROXY: '1',
};
