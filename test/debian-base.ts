import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildGuest } from '../packages/guest/build.mjs';
import { type BaseImage, Images } from '../packages/server/src/images/images.ts';

/** Where bases are kept between runs, because one takes half a minute to make. */
export const testImagesFolder = process.env.CAISSON_TEST_IMAGES ?? join(import.meta.dirname, '..', '.cache', 'images');

/** Bases out of the folder that all tests share. */
export function sharedImages(): Images {
  return new Images({ folder: testImagesFolder, guestProgram: buildGuest({ quiet: true }) });
}

/** Debian for tests: made by the first test that asks, kept for all others. Ask for it with a long timeout. */
export async function testDebianBase(release = 'bookworm'): Promise<BaseImage> {
  return locked(() =>
    sharedImages().resolve({ family: 'debian', mode: 'require', release }, { signal: AbortSignal.timeout(180_000) }),
  );
}

/** Debian's base in the data folder of a server: as if that server had made it. */
export async function giveDebianBase(data: string): Promise<void> {
  await testDebianBase();
  mkdirSync(data, { recursive: true });
  execFileSync('cp', ['-a', testImagesFolder, join(data, 'images')]);
}

/** Test files run in processes of their own: one makes the base, the others wait. The lock ends with its holder. */
async function locked<T>(work: () => Promise<T>): Promise<T> {
  mkdirSync(testImagesFolder, { recursive: true, mode: 0o700 });
  const holder = spawn('flock', [join(testImagesFolder, 'lock'), 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise((held, failed) => holder.once('error', failed).stdout.once('data', held));
  try {
    return await work();
  } finally {
    holder.stdin.end();
  }
}
