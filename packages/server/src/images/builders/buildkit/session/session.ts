import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { GrpcClient } from '../grpc/client.ts';
import { Message, writeMessage } from '../grpc/protobuf.ts';
import { type GrpcMethods, type ServedCall, serveGrpc } from '../grpc/server.ts';
import { GrpcError, grpcCodes } from '../grpc/status.ts';
import { BlobStore, type SessionBlob } from './blob-store.ts';
import { type ContextEntry, inOrder } from './context-tree.ts';
import { sendTree } from './file-sync.ts';
import { PieceStream } from './piece-stream.ts';

/** What a build may ask of whoever started it. */
export interface SessionParts {
  /** Trees by the name under which the build knows them. */
  readonly trees: Readonly<Record<string, readonly ContextEntry[]>>;
  /** Values that steps may mount, by id. They are never in a layer, a cache or an argument. */
  readonly secrets?: Readonly<Record<string, Buffer>>;
  /** Takes a connection that a step opened to one of the sockets that it is given, by the socket's id. */
  readonly connect?: Readonly<Record<string, (stream: Duplex) => void>>;
  /** Content that it may read, by digest. */
  readonly blobs?: readonly SessionBlob[] | undefined;
  /** Takes what the build exports. */
  readonly receive?: (content: AsyncIterable<Uint8Array>) => Promise<void>;
  /** One time for everything in the trees. */
  readonly mtimeSeconds: number;
  /** Trees of the same key are the same: what is there of an earlier build is not sent again. */
  readonly sharedKey: string;
}

const serving = 1;
const notThere = (what: string) => new GrpcError(grpcCodes.notFound, `the build was given no ${what}`);

/**
 * The way back from a build: BuildKit asks for the context, for secrets and for connections, on a stream that was opened
 * from here, so nothing has to listen anywhere. The build ends with it.
 */
export class Session {
  readonly id = randomBytes(16).toString('hex');
  readonly #stream: PieceStream;
  readonly #blobs: BlobStore;

  constructor(client: GrpcClient, parts: SessionParts) {
    this.#blobs = new BlobStore(parts.blobs ?? []);
    const methods = { ...methodsOf(parts), ...(parts.blobs === undefined ? {} : this.#blobs.methods()) };
    const call = client.open('/moby.buildkit.v1.Control/Session', {
      'x-docker-expose-session-uuid': this.id,
      'x-docker-expose-session-name': 'caisson',
      'x-docker-expose-session-sharedkey': parts.sharedKey,
      'x-docker-expose-session-grpc-method': Object.keys(methods),
    });
    this.#stream = new PieceStream(call);
    serveGrpc(this.#stream, methods);
  }

  close(): void {
    this.#blobs.close();
    this.#stream.destroy();
  }
}

function methodsOf({ trees, secrets = {}, connect = {}, receive, mtimeSeconds }: SessionParts): GrpcMethods {
  const ordered = new Map(Object.entries(trees).map(([name, entries]) => [name, inOrder(entries)]));
  return {
    '/grpc.health.v1.Health/Check': (call) => call.send(writeMessage([1, serving])),
    '/moby.filesync.v1.FileSync/DiffCopy': async (call) => {
      const entries = ordered.get(call.field('dir-name'));
      if (entries === undefined) throw notThere('such folder');
      await sendTree(call, entries, mtimeSeconds);
    },
    '/moby.buildkit.secrets.v1.Secrets/GetSecret': async (call) => {
      const id = new Message(await call.message()).string(1);
      const value = Object.hasOwn(secrets, id) ? secrets[id] : undefined;
      if (value === undefined) throw notThere('such secret');
      await call.send(writeMessage([1, value]));
    },
    '/moby.sshforward.v1.SSH/CheckAgent': async (call) => {
      const id = new Message(await call.message()).string(1);
      if (!Object.hasOwn(connect, id)) throw notThere('such socket');
      await call.send(writeMessage());
    },
    '/moby.sshforward.v1.SSH/ForwardAgent': async (call) => {
      const id = call.field('buildkit.ssh.id');
      const take = Object.hasOwn(connect, id) ? connect[id] : undefined;
      if (take === undefined) throw notThere('such socket');
      const stream = new PieceStream(call);
      take(stream);
      await call.over();
      stream.destroy();
    },
    ...(receive === undefined
      ? {}
      : { '/moby.filesync.v1.FileSend/DiffCopy': (call: ServedCall) => receive(pieces(call)) }),
  };
}

async function* pieces(call: ServedCall): AsyncGenerator<Uint8Array> {
  for await (const message of call.messages()) yield new Message(message).bytes(1);
}
