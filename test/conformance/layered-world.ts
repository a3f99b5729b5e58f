import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { HostClient } from '@caisson/guest';
import { afterAll } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { unmountBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import type { StorageUnderTest } from './describe-storage.ts';

export const isRoot = process.getuid?.() === 0;
export const host = new HostClient(buildGuest({ quiet: true }));
afterAll(() => host.close());

/** Two layers, of which the upper one hides a file of the lower. */
const imageFiles = { 'etc/hostname': 'caisson\n', 'bin/tool': 'upper\n', 'lib/data': 'lower\n' };

export interface LayeredWorld extends StorageUnderTest {
  /** Everything of this world lies in it. */
  readonly folder: string;
  /** Where the root filesystems and snapshots lie. */
  readonly pool: string;
}

export interface LayeredKind {
  readonly name: string;
  open(folder: string): Storage;
  pool(folder: string): string;
  /** What else there is to undo. */
  end?(folder: string): Promise<void>;
}

/** A storage of this kind with an image, in a folder of its own. */
export async function layeredWorld(kind: LayeredKind): Promise<LayeredWorld> {
  const folder = mkdtempSync(join(tmpdir(), `caisson-${kind.name}-`));
  chmodSync(folder, 0o711);
  const layers = ['lower', 'upper'].map((name) => join(folder, 'layers', name));
  const files: [string, string][] = [
    ['lower/etc/hostname', 'caisson\n'],
    ['lower/bin/tool', 'lower\n'],
    ['lower/lib/data', 'lower\n'],
    ['upper/bin/tool', 'upper\n'],
  ];
  for (const [path, content] of files) {
    mkdirSync(join(folder, 'layers', dirname(path)), { recursive: true });
    writeFileSync(join(folder, 'layers', path), content);
  }
  const storage = kind.open(folder);
  return {
    folder,
    pool: kind.pool(folder),
    storage,
    image: { digest: `sha256:${'a'.repeat(64)}`, layers },
    imageFiles,
    async restart() {
      // As after a reboot: no mount is left.
      await unmountBelow(host, folder);
      return kind.open(folder);
    },
    write: async (rootfs, path, content) => writeFileSync(join(rootfs.path, path), content),
    remove: async (rootfs, path) => rmSync(join(rootfs.path, path)),
    read: async (rootfs) => readTree(rootfs.path),
    async close() {
      await storage.close?.();
      await unmountBelow(host, folder);
      await kind.end?.(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readTree(folder: string, top = folder): Record<string, string> {
  return Object.assign(
    {},
    ...readdirSync(folder).map((name) => {
      const path = join(folder, name);
      if (name === 'lost+found') return {};
      return lstatSync(path).isDirectory()
        ? readTree(path, top)
        : { [relative(top, path)]: readFileSync(path, 'utf8') };
    }),
  );
}
