import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface UploadRegistry {
  readonly host: string;
  /** Method, and where the piece that came with it began. */
  readonly asked: string[];
  readonly blobs: ReadonlyMap<string, Buffer>;
  stop(): Promise<void>;
}

export interface UploadManners {
  /** Cuts the connection after so many bytes of the upload, once for each of them. */
  readonly cutsAt?: number[];
  /** Takes no request with more. */
  readonly mostBytes?: number;
  /** Forgets the upload at every cut. */
  readonly forgets?: boolean;
  /** Tells this digest for whatever it took. */
  readonly tells?: string;
}

/**
 * Takes uploads as the OCI distribution specification has them, in memory. Debian's registry forgets an upload whose
 * connection was cut; this one knows how far it came, and says so.
 */
export async function startUploads(manners: UploadManners = {}): Promise<UploadRegistry> {
  const asked: string[] = [];
  const blobs = new Map<string, Buffer>();
  const uploads = new Map<string, Buffer>();
  const cutsAt = [...(manners.cutsAt ?? [])];
  let count = 0;
  const take = async (id: string, incoming: IncomingMessage): Promise<boolean> => {
    for await (const chunk of incoming) {
      const has = Buffer.concat([uploads.get(id) ?? Buffer.alloc(0), chunk as Buffer]);
      uploads.set(id, has);
      const cut = cutsAt[0];
      if (cut === undefined || has.length < cut) continue;
      cutsAt.shift();
      uploads.set(id, has.subarray(0, cut));
      if (manners.forgets) uploads.delete(id);
      incoming.socket.destroy();
      return false;
    }
    return true;
  };
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const url = new URL(incoming.url ?? '', 'http://registry');
    const { method = '' } = incoming;
    const id = url.pathname.split('/').at(-1) ?? '';
    asked.push(`${method} ${incoming.headers['content-range'] ?? incoming.headers['content-length'] ?? ''}`.trim());
    const length = Number(incoming.headers['content-length'] ?? 0);
    if (manners.mostBytes !== undefined && length > manners.mostBytes) return response.writeHead(413).end();
    const range = () => ({ range: `0-${Math.max(0, (uploads.get(id)?.length ?? 0) - 1)}`, location: url.pathname });
    if (url.pathname.includes('/manifests/')) {
      if (method !== 'PUT') return response.writeHead(404).end();
      await take(`manifest-${++count}`, incoming);
      return response.writeHead(201, manners.tells ? { 'docker-content-digest': manners.tells } : {}).end();
    }
    if (method === 'HEAD') return response.writeHead(blobs.has(id) ? 200 : 404).end();
    if (method === 'POST') {
      uploads.set(`u${++count}`, Buffer.alloc(0));
      return response.writeHead(202, { location: `/v2/name/blobs/uploads/u${count}` }).end();
    }
    const has = uploads.get(id);
    if (has === undefined) return response.writeHead(404).end();
    if (method === 'GET') return response.writeHead(204, range()).end();
    const begin = Number(/^(\d+)-/.exec(incoming.headers['content-range'] ?? '')?.[1] ?? has.length);
    if (begin !== has.length) return response.writeHead(416, range()).end();
    if (!(await take(id, incoming))) return undefined;
    if (method === 'PATCH') return response.writeHead(202, range()).end();
    const whole = uploads.get(id) ?? Buffer.alloc(0);
    const digest = `sha256:${createHash('sha256').update(whole).digest('hex')}`;
    if (digest !== url.searchParams.get('digest')) return response.writeHead(400).end();
    blobs.set(digest, whole);
    return response.writeHead(201, manners.tells ? { 'docker-content-digest': manners.tells } : {}).end();
  };
  const server = createServer((incoming, response) => {
    incoming.on('error', () => {});
    void answer(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    blobs,
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
