import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstalledVersions } from '../plan/bill-of-materials.ts';

const statusFile = 'var/lib/dpkg/status';
/** That of a system with everything has some tens of megabytes. */
const maxBytes = 128 * 1024 ** 2;
/** Many times what a desktop has. More would be somebody's text, and the bill of it goes into the store. */
const maxPackages = 20_000;
const packageName = /^[a-z0-9][a-z0-9+.-]{0,127}$/;
const packageVersion = /^[A-Za-z0-9.+~:-]{1,128}$/;

/** What dpkg says is installed in a tree of layers, lowest first; undefined where it says nothing. */
export async function installedPackages(layers: readonly string[]): Promise<InstalledVersions | undefined> {
  const file = await findInLayers(layers, statusFile);
  if (file === undefined || (await lstat(file)).size > maxBytes) return undefined;
  const installed = parseStatus(await readFile(file, 'utf8'));
  return installed.size > maxPackages ? undefined : installed;
}

/** The words of a step may have written it: what does not read as a package is none. */
export function parseStatus(text: string): InstalledVersions {
  const installed = new Map<string, string>();
  for (const paragraph of text.split(/\n\n+/)) {
    const field = (name: string) => new RegExp(`^${name}:[ \t]*(\\S.*)$`, 'm').exec(paragraph)?.[1]?.trim();
    const [name, version] = [field('Package'), field('Version')];
    if (name === undefined || version === undefined || installed.has(name)) continue;
    if (!packageName.test(name) || !packageVersion.test(version)) continue;
    if (field('Status')?.endsWith(' installed')) installed.set(name, version);
  }
  return installed;
}

/**
 * Where a file of the joined tree lies on this machine. A layer is not to be trusted: no link is followed, and what is no
 * plain file below plain folders is not there. Layers never change, so what was looked at is what is read.
 */
export async function findInLayers(layers: readonly string[], path: string): Promise<string | undefined> {
  const names = path.split('/');
  for (const layer of [...layers].reverse()) {
    let place = layer;
    for (const [index, name] of names.entries()) {
      place = join(place, name);
      const found = await lstat(place).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      if (found === undefined) break;
      const isLast = index === names.length - 1;
      if (isLast && found.isFile()) return place;
      // A device hides what is below, and anything else stands in its place.
      if (isLast || !found.isDirectory()) return undefined;
    }
  }
  return undefined;
}
