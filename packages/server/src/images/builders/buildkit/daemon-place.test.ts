import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Packer } from '../../pack/packer.ts';
import { DaemonPlace } from './daemon-place.ts';

const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
/** A layer is packed as its own name. */
const packer = {
  measureLayer: async (folder: string) => ({ digest: sha256(Buffer.from(folder)), size: folder.length }),
  async *open(folder: string) {
    yield Buffer.from(folder);
  },
} as unknown as Packer;

test('a base of several layers is offered whole, each part by its digest', async () => {
  const place = new DaemonPlace({ kind: 'unix', path: '/nowhere' }, packer);
  const base = { digest: 'sha256:0', name: 'two', layers: ['/a', '/bc'], config: { env: { A: '1' } }, notices: [] };
  const signal = AbortSignal.timeout(10_000);
  const { blobs = [], attributes, layerCount } = await place.bring(base, signal);
  expect(layerCount).toBe(2);
  const contents = await Promise.all(
    blobs.map(async ({ digest, size, open }) => {
      const parts: Uint8Array[] = [];
      for await (const part of open(signal)) parts.push(part);
      const bytes = Buffer.concat(parts);
      expect([digest, size]).toEqual([sha256(bytes), bytes.length]);
      return bytes.toString();
    }),
  );
  const [manifest = '', config = '', ...layers] = contents;
  expect(layers).toEqual(['/a', '/bc']);
  expect(JSON.parse(manifest).layers).toHaveLength(2);
  expect(JSON.parse(config).config.Env).toEqual(['A=1']);
  expect(Object.values(attributes ?? {})).toEqual([expect.stringContaining(blobs[0]?.digest ?? 'none')]);
});
