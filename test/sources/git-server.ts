import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Certificate } from '../network/certificates.ts';

/** Git itself behind a small server: over HTTP for everybody, over HTTPS for whoever has the login. */
export interface GitServer {
  readonly folder: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** What was asked, with who asked. */
  readonly seen: string[];
  /** How the old protocol is spoken: whatever version is asked for, it is not heard. */
  isOld: boolean;
  /** Requests for packs are answered by nothing but a first part of it. */
  isHeld: boolean;
  /** A repository with these files, committed once; gives the commit. */
  make(name: string, files: Readonly<Record<string, string>>): string;
  /** Git in the repository that others fetch from. */
  git(name: string, ...args: string[]): string;
  close(): Promise<void>;
}

export interface GitServerOptions {
  readonly certificate?: Certificate;
  /** `user:password` of the HTTPS side. */
  readonly login?: string;
}

const identity = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' };
const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', ...identity };

export async function gitServer({ certificate, login }: GitServerOptions = {}): Promise<GitServer> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-git-'));
  const state = { isOld: false, isHeld: false };
  const seen: string[] = [];
  const git = (name: string, ...args: string[]) =>
    execFileSync('git', ['-C', join(folder, name), ...args], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const serve = (isPrivate: boolean) => (req: IncomingMessage, res: ServerResponse) => {
    const given = req.headers.authorization ?? '';
    seen.push(`${req.method} ${req.url} ${given}`);
    if (isPrivate && given !== `Basic ${Buffer.from(login ?? '').toString('base64')}`) {
      res.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('no');
      return;
    }
    if (state.isHeld && req.method === 'POST') {
      req.resume();
      res.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
      res.write('000dpackfile\n');
      // Sent as a part of the pack, and then nothing more.
      res.write(Buffer.concat([Buffer.from('0009\u0001'), Buffer.from('PACK')]));
      return;
    }
    runBackend(folder, state.isOld, req, res);
  };
  const plain = createServer(serve(false));
  const secure = certificate ? createTlsServer({ ...certificate }, serve(true)) : undefined;
  const servers = [plain, ...(secure ? [secure] : [])];
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const portOf = (server: typeof plain | undefined) => (server ? (server.address() as AddressInfo).port : 0);
  return {
    folder,
    seen,
    git,
    httpPort: portOf(plain),
    httpsPort: portOf(secure as typeof plain | undefined),
    get isOld() {
      return state.isOld;
    },
    set isOld(value) {
      state.isOld = value;
    },
    get isHeld() {
      return state.isHeld;
    },
    set isHeld(value) {
      state.isHeld = value;
    },
    make(name, files) {
      const at = join(folder, name);
      mkdirSync(at, { recursive: true });
      git(name, 'init', '-q', '-b', 'main');
      // Nobody needs them small, and tests make large ones.
      git(name, 'config', 'core.compression', '0');
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(at, path)), { recursive: true });
        if (text.startsWith('-> ')) symlinkSync(text.slice(3), join(at, path));
        else writeFileSync(join(at, path), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
      }
      git(name, 'add', '-A', '-f');
      git(name, 'commit', '-q', '-m', 'one');
      return git(name, 'rev-parse', 'HEAD');
    },
    async close() {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      rmSync(folder, { recursive: true });
    },
  };
}

function runBackend(folder: string, isOld: boolean, req: IncomingMessage, res: ServerResponse): void {
  const [path = '', query = ''] = (req.url ?? '').split('?');
  const protocol = isOld ? undefined : req.headers['git-protocol'];
  const child = spawn('git', ['http-backend'], {
    env: {
      ...env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path.replace(/^\/([^/]+)/, '/$1/.git'),
      QUERY_STRING: query,
      REQUEST_METHOD: req.method ?? 'GET',
      CONTENT_TYPE: req.headers['content-type'] ?? '',
      ...(protocol === undefined ? {} : { GIT_PROTOCOL: String(protocol) }),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  req.pipe(child.stdin);
  let head = Buffer.alloc(0);
  let isBody = false;
  child.stdout.on('data', (chunk: Buffer) => {
    if (isBody) return void res.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    isBody = true;
    const lines = head.subarray(0, end).toString().split('\r\n');
    const status = Number(/^Status: (\d+)/.exec(lines.find((line) => line.startsWith('Status:')) ?? '')?.[1] ?? 200);
    const fields = lines.filter((line) => !line.startsWith('Status:')).map((line) => line.split(/: (.*)/s).slice(0, 2));
    res.writeHead(status, Object.fromEntries(fields));
    res.write(head.subarray(end + 4));
  });
  child.on('close', () => res.end());
}

/** What a server is started with that may reach it: it listens on loopback, which is closed to specs. */
export function opened({ httpPort, httpsPort }: GitServer): string[] {
  return [httpPort, httpsPort].flatMap((port) => ['--egress-open', `127.0.0.1:${port}`]);
}
