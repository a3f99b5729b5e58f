import { digestOf } from '../digest.ts';
import { hostBase } from '../host/host-base.ts';
import type { BaseImage } from '../images.ts';
import { encodeTree } from '../tar-entries.ts';
import { usualPath } from '../usual-path.ts';
import { fromRecord, type Work } from './workshop.ts';

/** The digest names the skeleton, what is mounted over it, and the release of the machine's system. */
export async function hostImage(work: Work): Promise<BaseImage> {
  const { skeleton, binds, release } = await hostBase();
  const tar = encodeTree(skeleton);
  const diffId = digestOf(tar);
  await work.layers.ensure(diffId, () => once(tar), work.signal);
  const record = {
    digest: digestOf(JSON.stringify({ diffId, binds, release, machine: process.arch })),
    name: 'host',
    diffIds: [diffId],
    config: { env: { PATH: usualPath } },
    notices: ['the programs are those of this machine, and change when it is changed'],
    madeAt: new Date().toISOString(),
    binds,
  };
  if ((await work.records.read(record.digest))?.binds === undefined) await work.records.write(record);
  return fromRecord(record, work);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
