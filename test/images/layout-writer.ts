import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const architectures: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
export const architecture = architectures[process.arch] ?? process.arch;
export const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export interface WrittenLayer {
  readonly tar: Buffer;
  /** What the documents say instead of the truth. */
  readonly claim?: { readonly digest?: string; readonly size?: number; readonly diffId?: string };
  readonly blob?: Buffer;
}

/** An OCI layout written by hand, so that its documents can lie. Gives its reference. */
export function writeLayout(folder: string, layers: readonly WrittenLayer[], config: object = {}): string {
  const blobs = join(folder, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const put = (bytes: Buffer, digest = sha256(bytes)) => {
    writeFileSync(join(blobs, digest.slice('sha256:'.length)), bytes);
    return { digest, size: bytes.length };
  };
  const descriptors = layers.map(({ tar, claim, blob = gzipSync(tar, { level: 1 }) }) => ({
    mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
    ...put(blob, claim?.digest),
    ...(claim?.size === undefined ? {} : { size: claim.size }),
  }));
  const diffIds = layers.map(({ tar, claim }) => claim?.diffId ?? sha256(tar));
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  const image = { os: 'linux', architecture, config: {}, rootfs: { type: 'layers', diff_ids: diffIds }, ...config };
  const manifest = { schemaVersion: 2, config: put(json(image)), layers: descriptors };
  const root = put(json(manifest));
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [root] }));
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  return `oci:${folder}`;
}

/** Makes the index of a layout one that another index lists. */
export function wrapIndex(folder: string): void {
  const inner = readFileSync(join(folder, 'index.json'));
  const digest = sha256(inner);
  writeFileSync(join(folder, 'blobs', 'sha256', digest.slice('sha256:'.length)), inner);
  const manifests = [{ digest, size: inner.length }];
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
}
