/** A git URL in its parts. What it is made of was checked when the spec was read. */
export interface GitAddress {
  readonly scheme: 'https' | 'http' | 'ssh' | 'git';
  readonly host: string;
  readonly port: number;
  /** As the remote is asked for it: with its leading slash, or without one where the short form has none. */
  readonly path: string;
  readonly user?: string;
}

const ports = { https: 443, http: 80, ssh: 22, git: 9418 };
const urlParts = /^(https|http|ssh|git):\/\/(?:([^/@]*)@)?(\[[^\]]+\]|[^/:@]+)(?::([0-9]+))?(\/.*)$/;
const shortParts = /^([^@:/]+)@([^@:/]+):(.+)$/;

/** Undefined for what is no address of git. */
export function readGitAddress(url: string): GitAddress | undefined {
  const parts = urlParts.exec(url);
  if (parts !== null) {
    const [, name = '', user, host = '', port, path = ''] = parts;
    const scheme = name as GitAddress['scheme'];
    const number = port === undefined ? ports[scheme] : Number(port);
    return { scheme, host, port: number, path, ...(user ? { user } : {}) };
  }
  const short = url.includes('://') ? null : shortParts.exec(url);
  if (short === null) return undefined;
  const [, user = '', host = '', path = ''] = short;
  return { scheme: 'ssh', host, port: ports.ssh, path, user };
}
