import { Message, writeMessage } from '../grpc/protobuf.ts';
import type { GrpcMethods, ServedCall } from '../grpc/server.ts';
import { GrpcError, grpcCodes } from '../grpc/status.ts';

/** A piece of content that a build may read: a manifest, a config, a layer. */
export interface SessionBlob {
  readonly digest: string;
  readonly size: number;
  readonly open: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** Far below what fits into one message. */
const pieceBytes = 512 * 1024;

/**
 * The store of content as containerd has it, of which reading is all that is served. BuildKit asks for what it does not
 * have yet: what it was given by an earlier build it finds by its digest.
 */
export class BlobStore {
  readonly #blobs: ReadonlyMap<string, SessionBlob>;
  readonly #reading = new Map<string, { readonly reader: Reader; last: Promise<unknown> }>();
  readonly #over = new AbortController();

  constructor(blobs: readonly SessionBlob[]) {
    this.#blobs = new Map(blobs.map((blob) => [blob.digest, blob]));
  }

  methods(): GrpcMethods {
    const service = '/containerd.services.content.v1.Content';
    return {
      [`${service}/Info`]: async (call) => {
        const { digest, size } = this.#find(new Message(await call.message()).string(1));
        await call.send(writeMessage([1, writeMessage([1, digest], [2, size])]));
      },
      [`${service}/Read`]: async (call) => {
        const asked = new Message(await call.message());
        const blob = this.#find(asked.string(1));
        const offset = asked.uint(2);
        if (offset > blob.size) throw new GrpcError(grpcCodes.outOfRange, 'the content is shorter than that');
        const size = Math.min(asked.uint(3) || blob.size, blob.size - offset);
        await this.#inTurn(blob, (reader) => send(call, reader, offset, size));
      },
    };
  }

  close(): void {
    this.#over.abort();
    // Nobody reads any more: how a reader ends is told to nobody.
    for (const { reader } of this.#reading.values()) void reader.close().catch(() => {});
  }

  #find(digest: string): SessionBlob {
    const blob = this.#blobs.get(digest);
    if (blob === undefined) throw new GrpcError(grpcCodes.notFound, 'the build was given no such content');
    return blob;
  }

  /** It is asked for piece after piece, each in a call of its own: one reader goes on where it was. */
  #inTurn(blob: SessionBlob, work: (reader: Reader) => Promise<void>): Promise<void> {
    const known = this.#reading.get(blob.digest) ?? {
      reader: new Reader(() => blob.open(this.#over.signal)),
      last: Promise.resolve(),
    };
    this.#reading.set(blob.digest, known);
    const done = known.last.then(() => work(known.reader));
    known.last = done.catch(() => {});
    return done;
  }
}

async function send(call: ServedCall, reader: Reader, offset: number, size: number): Promise<void> {
  for (let sent = 0; sent < size; ) {
    const data = await reader.at(offset + sent, Math.min(pieceBytes, size - sent));
    await call.send(writeMessage([1, offset + sent], [2, data]));
    sent += data.length;
  }
}

/** Content that can only be read from its beginning, at any place: cheap for whoever reads on, dear for who goes back. */
class Reader {
  readonly #open: () => AsyncIterable<Uint8Array>;
  #source: AsyncIterator<Uint8Array> | undefined;
  #rest: Uint8Array = new Uint8Array(0);
  #position = 0;

  constructor(open: () => AsyncIterable<Uint8Array>) {
    this.#open = open;
  }

  /** Some bytes from there on, at least one and at most so many. */
  async at(offset: number, most: number): Promise<Uint8Array> {
    if (offset < this.#position) await this.close();
    for (;;) {
      if (this.#rest.length === 0) await this.#fill();
      const skipped = Math.min(offset - this.#position, this.#rest.length);
      this.#take(skipped);
      if (this.#position === offset && this.#rest.length > 0) return this.#take(most);
    }
  }

  async close(): Promise<void> {
    const source = this.#source;
    this.#source = undefined;
    this.#rest = new Uint8Array(0);
    this.#position = 0;
    await source?.return?.();
  }

  #take(most: number): Uint8Array {
    const taken = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(taken.length);
    this.#position += taken.length;
    return taken;
  }

  async #fill(): Promise<void> {
    this.#source ??= this.#open()[Symbol.asyncIterator]();
    const next = await this.#source.next();
    if (next.done) throw new GrpcError(grpcCodes.outOfRange, 'the content is shorter than was said');
    this.#rest = next.value;
  }
}
