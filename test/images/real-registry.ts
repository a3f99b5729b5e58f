import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface RealRegistry {
  /** Host and port, as a reference begins. */
  readonly host: string;
  readonly blobFolder: string;
  push(layout: string, name: string, options?: readonly string[]): void;
  stop(): Promise<void>;
}

export const account = { username: 'tester', password: 'open-sesame' };
const accountLine = 'tester:$2y$05$/ZiFgLMsQlxTYtHX.oGXQOqcUJCVgyOWC5o5gcpHsbyofgi1RKwbe';

/** Debian's docker-registry on a free port of the loopback. */
export async function startRegistry(
  folder: string,
  options: {
    password?: boolean;
    /** Files of a certificate and its key. */
    tls?: { readonly certificate: string; readonly key: string };
    /** Whose tokens it takes. */
    token?: { readonly realm: string; readonly service: string; readonly issuer: string; readonly bundle: string };
  } = {},
): Promise<RealRegistry> {
  const { token } = options;
  const file = join(folder, 'registry.json');
  const passwords = join(folder, 'passwords');
  writeFileSync(passwords, `${accountLine}\n`);
  // JSON is YAML.
  const config = {
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, 'registry') }, delete: { enabled: true } },
    http: { addr: '127.0.0.1:0', ...(options.tls ? { tls: options.tls } : {}) },
    ...(options.password ? { auth: { htpasswd: { realm: 'test', path: passwords } } } : {}),
    ...(token ? { auth: { token: { ...token, rootcertbundle: token.bundle } } } : {}),
  };
  writeFileSync(file, JSON.stringify(config));
  const child = spawn('docker-registry', ['serve', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, OTEL_TRACES_EXPORTER: 'none' },
  });
  const host = await listeningOn(child);
  return {
    host,
    blobFolder: join(folder, 'registry', 'docker', 'registry', 'v2', 'blobs'),
    push: (layout, name, more = []) => {
      const credentials = options.password ? ['--dest-creds', `${account.username}:${account.password}`] : [];
      execFileSync(
        'skopeo',
        [
          ...['--insecure-policy', 'copy', '--dest-tls-verify=false', '--quiet', ...credentials, ...more],
          ...[layout, `docker://${host}/${name}`],
        ],
        { stdio: ['ignore', 'ignore', 'pipe'] },
      );
    },
    stop: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await new Promise((done) => child.once('exit', done));
    },
  };
}

/** It tells its address when it listens. */
function listeningOn(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`docker-registry ended with ${code}: ${said}`)));
    if (child.stderr === null) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      said = `${said}${line}\n`.slice(-2000);
      const address = /listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (address) resolve(address);
    });
  });
}
