import { open, readdir, readFile } from 'node:fs/promises';
import { CaissonError } from '@caisson/contract';

/** A kernel that ends a namespace lets go of its mounts within milliseconds. */
const letGoMs = 10_000;
const lookMs = 20;

/**
 * A detached mount may live on for a moment, in a namespace that is just ending. To check or mount its disk a second time
 * meanwhile would ruin it.
 */
export async function untilLetGo(file: string): Promise<void> {
  for (let waited = 0; await isAttached(file); waited += lookMs) {
    if (waited >= letGoMs) throw new CaissonError('storage_failed', `${file} is still in use`);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

async function isAttached(file: string): Promise<boolean> {
  return (await loopDeviceOf(file)) !== undefined;
}

/** The device that a file is behind. */
export async function loopDeviceOf(file: string): Promise<string | undefined> {
  const devices = (await readdir('/sys/block')).filter((name) => name.startsWith('loop'));
  const backing = devices.map((name) => readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => ''));
  const index = (await Promise.all(backing)).findIndex((path) => path.trim() === file);
  return index === -1 ? undefined : `/dev/${devices[index]}`;
}

/** Sparse: what is added takes no room until it is written. */
export async function resizeFile(file: string, bytes: number): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    await handle.truncate(bytes);
  } finally {
    await handle.close();
  }
}
