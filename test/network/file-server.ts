import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import type { Certificate } from './certificates.ts';

/** The files of a folder on a port of loopback, and what was asked of it. */
export class FileServer {
  readonly folder: string;
  readonly asked: { host: string | undefined; url: string }[] = [];
  /** Answers made up on the spot, by path. */
  readonly pages = new Map<string, () => { type: string; body: string }>();
  readonly #server: Server;

  constructor(folder: string, certificate?: Certificate) {
    this.folder = folder;
    const answer = (req: IncomingMessage, res: ServerResponse) => this.#answer(req, res);
    this.#server = certificate ? createTlsServer({ ...certificate }, answer) : createServer(answer);
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const url = req.url ?? '/';
    this.asked.push({ host: req.headers.host, url });
    const path = decodeURIComponent(url.split('?')[0] ?? '/');
    const page = this.pages.get(path)?.();
    if (page) {
      res.writeHead(200, { 'content-type': page.type }).end(page.body);
      return;
    }
    const file = join(this.folder, normalize(path));
    const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() === true;
    if (!isFile) {
      res.writeHead(404).end('not here\n');
      return;
    }
    createReadStream(file).pipe(res);
  }
}
