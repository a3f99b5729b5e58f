import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildGuest } from '../../packages/guest/build.mjs';
import { Images, type ImagesOptions } from '../../packages/server/src/images/images.ts';

const made: string[] = [];

export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-images-'));
  made.push(folder);
  return folder;
}

export function removeScratch(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function freshImages(options: Partial<ImagesOptions> = {}): { images: Images; folder: string } {
  const folder = options.folder ?? join(scratchFolder(), 'images');
  return { images: new Images({ folder, guestProgram: buildGuest({ quiet: true }), ...options }), folder };
}

/** What stands in the folder, by kind: after a refusal all of it is empty. */
export function contents(folder: string): Record<string, string[]> {
  return Object.fromEntries(['layers', 'images', 'making'].map((name) => [name, readdirSync(join(folder, name))]));
}

export const nothing = { layers: [], images: [], making: [] };
export const soon = () => AbortSignal.timeout(60_000);
export const imageOf = (reference: string) => ({ family: 'image', mode: 'require', reference }) as const;
/** Owners and devices belong to root, so nothing of this can be tried without. */
export const isRoot = process.getuid?.() === 0;
