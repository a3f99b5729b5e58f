import { basename } from 'node:path';
import {
  CaissonError,
  type Labels,
  newId,
  type Owner,
  type Snapshot,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import { blueprintDigest } from '@caisson/workspace-composition/digest';
import type { Driver } from '../drivers/driver.ts';
import { digestOf } from '../images/digest.ts';
import { Packer } from '../images/pack/packer.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import { normalize } from '../sandbox/compose.ts';
import type { Filesystems } from '../sandbox/filesystems.ts';
import type { Snapshots } from '../sandbox/travel/snapshots.ts';
import type { ImageLayers, TreeView } from '../storage/storage.ts';
import type { ForeignSnapshot, SnapshotInputs, StoredSnapshot } from '../store/snapshots.ts';
import type { Store } from '../store/store.ts';
import { type Caller, projectOf } from '../tenancy/caller.ts';
import type { ArchiveRecord } from './archive-record.ts';
import { holdView } from './held-view.ts';
import { hostBinds } from './host-binds.ts';
import { requireOurFiles } from './our-files.ts';
import { type ReadArchive, readArchive, receive } from './read-archive.ts';
import { type ArchiveLayer, ArchiveWriter } from './write-archive.ts';

export interface ArchivesContext {
  readonly store: Store;
  readonly filesystems: Filesystems | undefined;
  readonly snapshots: Snapshots;
  readonly profiles: ProfileCatalog;
  readonly drivers: readonly Driver[];
}

/** A file on its way to a client. */
export interface Exported {
  readonly size: number;
  readonly fileName: string;
  write(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined>;
  /** When it was sent, or will not be. */
  close(): Promise<void>;
}

export interface ImportRequest {
  readonly project?: string | undefined;
  readonly name?: string | undefined;
  readonly labels?: Labels | undefined;
}

/** Snapshots as one file each, to keep them elsewhere or to bring them to another server, with whatever storage that has. */
export class Archives {
  readonly #context: ArchivesContext;
  #packer: Packer | undefined;

  constructor(context: ArchivesContext) {
    this.#context = context;
  }

  async export(caller: Caller, id: string, thin: boolean, signal: AbortSignal): Promise<Exported> {
    const { snapshots, store } = this.#context;
    const snapshot = await snapshots.stored(caller, id);
    const inputs = await store.snapshots.inputs(snapshot.id);
    if (!inputs) throw new CaissonError('snapshot_not_found', `there is no snapshot ${id}`);
    await requireOurFiles(this.#context, snapshot.id);
    const filesystems = this.#filesystems();
    const held = await holdView(filesystems.storage, snapshot.id, signal);
    try {
      const layers = await this.#layersOf(filesystems, held.view, thin, signal);
      const record = recordOf(snapshot, inputs, held.view.image);
      const archive = new ArchiveWriter({ record, env: inputs.image.env, layers });
      return {
        size: archive.size,
        fileName: `${snapshot.name ?? snapshot.id}.tar`,
        write: (reader) => archive.write(reader),
        close: () => held.letGo(),
      };
    } catch (error) {
      await held.letGo();
      throw error;
    }
  }

  /** The caller's own from now on. What is not whole, or not what it says, leaves nothing but layers that are. */
  async import(
    caller: Caller,
    body: AsyncIterable<Uint8Array>,
    request: ImportRequest,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    const { tenant, principal } = caller.owner;
    const owner = { tenant, project: projectOf(caller, request.project), principal };
    const filesystems = this.#filesystems();
    if ((await filesystems.storage.health(signal)).state === 'critical') throw new CaissonError('storage_full');
    const workshop = await filesystems.images.workshop();
    const packer = await this.#openPacker(filesystems);
    return workshop.drafts.use(async (draft) => {
      try {
        const file = await receive(body, draft, { ...workshop, signal });
        const archive = await readArchive(file, draft, { ...workshop, packer, signal });
        return await this.#adopt(archive, owner, request, signal);
      } catch (error) {
        // What a stream says of being cut off matters less than why it was.
        signal.throwIfAborted();
        throw asFull(error);
      }
    });
  }

  async #adopt(archive: ReadArchive, owner: Owner, request: ImportRequest, signal: AbortSignal): Promise<Snapshot> {
    const { storage, images } = this.#filesystems();
    const image = await imageOf(archive);
    const inputs = this.#inputsOf(archive, image.digest);
    const [id, sandbox] = [newId('snapshot'), newId('sandbox')];
    const foreign: ForeignSnapshot = {
      id,
      sandbox,
      owner,
      kind: 'named',
      name: request.name ?? archive.record.name,
      labels: request.labels ?? archive.record.labels,
      blueprintDigest: blueprintDigest(inputs.blueprint as WorkspaceBlueprint),
      inputs,
    };
    const release = images.hold(image);
    try {
      const fill = () => storage.adopt({ id, sandbox, image }, archive.fill, signal);
      return await this.#context.snapshots.adopt(foreign, fill);
    } finally {
      release();
    }
  }

  /** Its base lowest first, then its changes. What this server has its base by is told, so that another may have it too. */
  async #layersOf(
    filesystems: Filesystems,
    { image, changes }: TreeView,
    thin: boolean,
    signal: AbortSignal,
  ): Promise<ArchiveLayer[]> {
    const { bounds, layers: known } = await filesystems.images.workshop();
    const packer = await this.#openPacker(filesystems);
    const layers: ArchiveLayer[] = [];
    for (const folder of image.layers) {
      const diffId = basename(folder).replace('-', ':');
      const isOurs = /^sha256:[0-9a-f]{64}$/.test(diffId) && known.folderOf(diffId) === folder;
      const packed = await packer.measureLayer(folder, signal);
      const open = thin ? undefined : (reader: AbortSignal) => packer.open(folder, reader);
      layers.push({ ...packed, origin: isOurs ? diffId : undefined, open });
    }
    layers.push({ ...(await packer.measure(changes, signal)), open: (reader) => packer.open(changes, reader) });
    const bytes = layers.reduce((sum, { size }) => sum + size, 0);
    if (bytes > bounds.compressedBytes)
      throw new CaissonError(
        'image_too_large',
        `it has ${bytes} bytes; ${bounds.compressedBytes} can be imported again`,
      );
    return layers;
  }

  /** What a sandbox made from it will be made of, by what this server has. */
  #inputsOf({ record, env }: ReadArchive, digest: string): SnapshotInputs {
    const { profiles, drivers } = this.#context;
    const { spec, resolvedSpec, persistence, policy } = record;
    const blueprint = normalize(resolvedSpec, false);
    const named = drivers.find(({ name }) => name === record.driver);
    const driver = named ?? drivers.find((one) => isOurs(one) && one.supports(blueprint).length === 0);
    if (!driver || !isOurs(driver)) {
      const why = driver
        ? `the driver ${driver.name} keeps no snapshots`
        : 'no driver here takes a sandbox like its own';
      throw new CaissonError('snapshots_not_available', why);
    }
    const profile =
      record.profile && profiles.find(record.profile.name, record.profile.version) ? record.profile : null;
    return { spec, resolvedSpec, blueprint, driver: driver.name, persistence, profile, policy, image: { digest, env } };
  }

  async #openPacker({ images }: Filesystems): Promise<Packer> {
    const { guestProgram, bounds } = await images.workshop();
    this.#packer ??= new Packer(guestProgram, bounds);
    return this.#packer;
  }

  #filesystems(): Filesystems {
    const { filesystems } = this.#context;
    if (filesystems) return filesystems;
    throw new CaissonError('snapshots_not_available', 'this server has no storage for snapshots');
  }
}

function isOurs({ capabilities }: Driver): boolean {
  return capabilities.storage === 'ours';
}

/** Named by what it is made of here; a name that an archive claims could be that of somebody else's image. */
async function imageOf({ layers, diffIds, record }: ReadArchive): Promise<ImageLayers> {
  const binds = await hostBinds(record.binds);
  return { digest: digestOf(JSON.stringify({ diffIds, binds })), layers, binds };
}

function recordOf(snapshot: StoredSnapshot, inputs: SnapshotInputs, image: ImageLayers): ArchiveRecord {
  const { id, kind, name, labels, createdAt } = snapshot;
  const { spec, resolvedSpec, driver, persistence, profile, policy } = inputs;
  return {
    version: 1,
    snapshot: id,
    kind: kind as Snapshot['kind'],
    name,
    labels,
    createdAt,
    spec: spec as ArchiveRecord['spec'],
    resolvedSpec: resolvedSpec as ArchiveRecord['resolvedSpec'],
    driver,
    persistence,
    profile,
    policy,
    image: image.digest,
    binds: (image.binds ?? []).map(({ source, target }) => ({ source, target })),
  };
}

/** What the filesystem says when there is no room left, in our words. */
function asFull(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new CaissonError('storage_full', 'there is no room left for the archive', { cause: error });
}
