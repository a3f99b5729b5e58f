import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { readAptSetup } from '../debian/apt-sources.ts';
import { bootstrap, bootstrapArguments } from '../debian/bootstrap.ts';
import type { DebianRelease } from '../debian/releases.ts';
import { whyNoDebian } from '../debian/why-no-debian.ts';
import { digestOf } from '../digest.ts';
import type { BaseImage } from '../images.ts';
import { machineArchitecture } from '../oci/platform.ts';
import { usualPath } from '../usual-path.ts';
import { fromRecord, type Work } from './workshop.ts';

/** After so long a base lacks updates that matter. */
const oldAfterDays = 30;
const dayMs = 86_400_000;

/** One layer, made by the first who asks and kept. */
export async function debianBase(release: DebianRelease, work: Work): Promise<BaseImage> {
  const key = baseKey(release);
  const kept = await work.records.readBase(key);
  if (kept !== undefined) {
    const age = Math.floor((Date.now() - Date.parse(kept.madeAt)) / dayMs);
    const old = `this base is ${age} days old; remove ${work.records.baseFile(key)} to have it made again`;
    return { ...fromRecord(kept, work), notices: age >= oldAfterDays ? [old] : [] };
  }
  const missing = await whyNoDebian();
  if (missing !== undefined)
    throw new CaissonError('unsupported-os', `Debian cannot be bootstrapped here: ${missing.why}`, {
      hint: missing.fix,
    });
  work.progress(`bootstrapping Debian ${release.name}, which takes about half a minute`);
  const layer = await work.drafts.use(async (draft) => {
    const room = join(draft, 'tmp');
    await mkdir(room);
    await chmod(room, 0o1777);
    const apt = await readAptSetup(release, work.signal);
    return work.layers.add(bootstrap({ ...work, release, apt, draft: room }), work.signal);
  });
  const record = {
    // It has no manifest: its one layer is all there is to name.
    digest: layer.diffId,
    name: `debian ${release.name}`,
    diffIds: [layer.diffId],
    config: { env: { PATH: usualPath } },
    notices: [],
    madeAt: new Date().toISOString(),
  };
  await work.records.writeBase(key, record);
  return fromRecord(record, work);
}

/** Changes with what goes into the base, but not with where the packages come from. */
export function baseKey(release: DebianRelease): string {
  const recipe = digestOf(JSON.stringify(bootstrapArguments(release, { sources: [], settings: [] })));
  return ['debian', release.name, machineArchitecture(), recipe.slice(-12)].join('-');
}
