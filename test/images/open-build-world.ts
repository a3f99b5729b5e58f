import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { testDebianBase, testImagesFolder } from '../debian-base.ts';
import { BuildWorld } from './build-world.ts';

/** A world of builds with the Debian of all tests. Its layers are shown, not copied: they never change. */
export async function openBuildWorld(
  options: {
    readonly start?: boolean;
    readonly storage?: string;
    readonly extraCa?: string;
    /** An empty folder in place of a new one. */
    readonly folder?: string;
  } = {},
): Promise<BuildWorld> {
  const base = await testDebianBase();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'caisson-build-'));
  const images = join(folder, 'images');
  for (const name of ['layers', 'images', 'bases', 'making']) mkdirSync(join(images, name), { recursive: true });
  for (const layer of base.layers) symlinkSync(layer, join(images, 'layers', basename(layer)));
  for (const kind of ['images', 'bases'])
    for (const name of readdirSync(join(testImagesFolder, kind)))
      copyFileSync(join(testImagesFolder, kind, name), join(images, kind, name));
  const world = new BuildWorld(folder, base, options.storage, options.extraCa);
  if (options.start !== false) await world.start();
  return world;
}
