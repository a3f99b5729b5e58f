import { createHash } from 'node:crypto';
import { CaissonError } from '@caisson/contract';
import { digestEnd, digestOf, short } from '../images/digest.ts';
import { mediaTypes } from '../images/oci/documents.ts';
import { machineArchitecture } from '../images/oci/platform.ts';
import type { Packed } from '../images/pack/packer.ts';
import { archiveEnd, memberHeader, memberSize, paddingOf } from '../images/pack/tar-member.ts';
import { type ArchiveRecord, originAnnotation, recordAnnotation, recordText } from './archive-record.ts';

/** A layer of the archive. */
export interface ArchiveLayer extends Packed {
  /** The diff id that this server has it by; the changes have none. */
  readonly origin?: string | undefined;
  /** Absent for one that is left out. */
  readonly open?: ((signal: AbortSignal) => AsyncIterable<Uint8Array>) | undefined;
}

export interface ArchiveContent {
  readonly record: ArchiveRecord;
  readonly env: Readonly<Record<string, string>>;
  /** Lowest first; the last one is the changes. */
  readonly layers: readonly ArchiveLayer[];
}

interface Member {
  readonly name: string;
  readonly size: number;
  readonly digest?: string;
  readonly open: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/**
 * A snapshot as one file: an OCI image layout in a tar, documents first. Whoever reads images can read it; what only we
 * know is an annotation of its manifest, so the manifest's digest vouches for all of it.
 */
export class ArchiveWriter {
  readonly size: number;
  readonly #members: readonly Member[];

  constructor(content: ArchiveContent) {
    const { record, env, layers } = content;
    const config = document({
      created: record.createdAt,
      architecture: machineArchitecture(),
      os: 'linux',
      config: { Env: Object.entries(env).map(([name, value]) => `${name}=${value}`) },
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
    });
    const manifest = document({
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      config: { mediaType: mediaTypes.ociConfig, digest: digestOf(config), size: config.length },
      layers: layers.map(({ digest, size, origin }) => ({
        mediaType: mediaTypes.ociLayer,
        digest,
        size,
        ...(origin === undefined ? {} : { annotations: { [originAnnotation]: origin } }),
      })),
      annotations: { [recordAnnotation]: recordText(record) },
    });
    const root = { mediaType: mediaTypes.ociManifest, digest: digestOf(manifest), size: manifest.length };
    const index = document({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: [root] });
    // Two layers of the same content are one file.
    const blobs = new Map<string, Member>();
    for (const { digest, size, open } of layers) {
      if (open) blobs.set(digest, { name: blobName(digest), size, digest, open });
    }
    this.#members = [
      fixed('oci-layout', document({ imageLayoutVersion: '1.0.0' })),
      fixed('index.json', index),
      fixed(blobName(digestOf(manifest)), manifest),
      fixed(blobName(digestOf(config)), config),
      ...blobs.values(),
    ];
    this.size = this.#members.reduce((sum, { size }) => sum + memberSize(size), archiveEnd.length);
  }

  async *write(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    for (const member of this.#members) {
      yield memberHeader(member.name, member.size);
      yield* unchanged(member, signal);
      yield paddingOf(member.size);
    }
    yield archiveEnd;
  }
}

function blobName(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function document(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function fixed(name: string, bytes: Buffer): Member {
  return {
    name,
    size: bytes.length,
    async *open() {
      yield bytes;
    },
  };
}

/** Its name was given before it was read: when it is not what it was, the reader must not take it for whole. */
async function* unchanged(member: Member, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of member.open(signal)) {
    hash.update(chunk);
    size += chunk.length;
    if (size > member.size) break;
    yield chunk;
  }
  const isSame = size === member.size && (member.digest === undefined || digestEnd(hash) === member.digest);
  if (!isSame) throw new CaissonError('storage_failed', `${short(member.digest ?? '')} changed while it was exported`);
}
