import { execFileSync } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Id, newId, type Sandbox, type Snapshot } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { describeTree } from '../../packages/guest/testing/random-tree.ts';
import { FakeDriver } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { type BaseImage, Images } from '../../packages/server/src/images/images.ts';
import { ProfileCatalog } from '../../packages/server/src/profiles/catalog.ts';
import { blankProfile } from '../../packages/server/src/profiles/shipped.ts';
import { normalize } from '../../packages/server/src/sandbox/compose.ts';
import { Filesystems } from '../../packages/server/src/sandbox/filesystems.ts';
import { InFlight } from '../../packages/server/src/sandbox/in-flight.ts';
import { SnapshotKeeper } from '../../packages/server/src/sandbox/travel/snapshot-keeper.ts';
import { Snapshots } from '../../packages/server/src/sandbox/travel/snapshots.ts';
import { Stillness } from '../../packages/server/src/sandbox/travel/stillness.ts';
import { defaultDeadlines, type WorkContext } from '../../packages/server/src/sandbox/work-context.ts';
import { Archives } from '../../packages/server/src/snapshot-content/archives.ts';
import { Diffs } from '../../packages/server/src/snapshot-content/diffs.ts';
import { BtrfsStorage } from '../../packages/server/src/storage/btrfs/btrfs-storage.ts';
import { unmountBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import type { Rootfs, Storage } from '../../packages/server/src/storage/storage.ts';
import { openStore, type Store } from '../../packages/server/src/store/store.ts';
import { Spans } from '../../packages/server/src/telemetry/spans.ts';
import type { Caller } from '../../packages/server/src/tenancy/caller.ts';
import { writeLayout } from '../images/layout-writer.ts';
import { sampleLayers } from '../images/sample-image.ts';
import { tarOf } from '../images/tar-writer.ts';

export const never = new AbortController().signal;
setMaxListeners(0, never);
export const ada: Caller = { owner: { tenant: 'acme', project: 'web', principal: 'ada' }, scope: 'use', key: null };
export const eve: Caller = { owner: { tenant: 'evil', project: 'web', principal: 'eve' }, scope: 'admin', key: null };

const spec = { source: { kind: 'none' }, runtime: { env: { COLOUR: 'blue' } } };

/** A driver whose filesystem is ours, and which runs nothing. */
class StorageDriver extends FakeDriver {
  override readonly capabilities = {
    ...new FakeDriver().capabilities,
    storage: 'ours',
    snapshots: 'filesystem',
  } as const;
}

/** Everything of a server that has to do with the content of snapshots, with a storage of its own. */
export class ContentWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'caisson-content-'));
  readonly host = new HostClient(buildGuest({ quiet: true }));
  readonly images: Images;
  readonly storage: Storage;
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly keeper: SnapshotKeeper;
  readonly diffs: Diffs;
  readonly archives: Archives;
  readonly #live = new Map<string, Sandbox>();

  static async open(kind: 'overlay' | 'btrfs', limits: { layerBytes?: number } = {}): Promise<ContentWorld> {
    const world = new ContentWorld(kind, limits, await openStore({ sqlite: ':memory:' }));
    await world.storage.recover(never);
    return world;
  }

  private constructor(kind: 'overlay' | 'btrfs', bounds: { layerBytes?: number }, store: Store) {
    const { folder, host } = this;
    chmodSync(folder, 0o711);
    this.store = store;
    this.images = new Images({ folder: join(folder, 'images'), guestProgram: host.program, bounds });
    const places = { pool: join(folder, 'pool'), mounts: join(folder, 'mounts'), host };
    this.storage =
      kind === 'overlay'
        ? new OverlayStorage(places)
        : new BtrfsStorage({ ...places, data: folder, firstBytes: 512 * 1024 ** 2 });
    const filesystems = new Filesystems(this.images, this.storage);
    const driver = new StorageDriver({ name: kind });
    const work: WorkContext = {
      store,
      deadlines: defaultDeadlines,
      installation: store.installation,
      driver: () => driver,
      filesystems,
      spans: new Spans(),
      stillness: new Stillness(),
      inFlight: new InFlight(),
      subjects: { find: async () => undefined },
    };
    // Whatever asks for a sandbox here asks for one that this world made.
    const sandboxes = { get: async (_: Caller, id: string) => this.#live.get(id) as Sandbox };
    this.snapshots = new Snapshots(work, sandboxes as never);
    this.keeper = new SnapshotKeeper(work, this.snapshots);
    this.diffs = new Diffs({ store, filesystems, sandboxes, snapshots: this.snapshots, drivers: [driver] });
    const profiles = new ProfileCatalog([blankProfile]);
    this.archives = new Archives({ store, filesystems, snapshots: this.snapshots, profiles, drivers: [driver] });
  }

  image(): Promise<BaseImage> {
    const reference = writeLayout(
      join(this.folder, 'layout'),
      sampleLayers.map((layer) => ({ tar: tarOf(layer) })),
    );
    const os = { family: 'image', mode: 'require', reference } as const;
    return this.images.resolve(os, { signal: never });
  }

  /** The files of a sandbox that somebody may work in. */
  async sandbox(image?: BaseImage): Promise<Rootfs & { readonly image: BaseImage }> {
    const base = image ?? (await this.image());
    const id = newId('sandbox');
    this.#live.set(id, { id, state: 'ready', persistence: 'ephemeral', owner: ada.owner } as Sandbox);
    return { ...(await this.storage.prepare({ sandbox: id, image: base }, never)), image: base };
  }

  async snapshot(of: Rootfs & { readonly image: BaseImage }, name: string | null = null): Promise<Snapshot> {
    const id = newId('snapshot');
    const inputs = {
      spec,
      resolvedSpec: spec,
      blueprint: normalize(spec, false),
      driver: 'overlay',
      persistence: 'ephemeral',
      profile: null,
      policy: { keepTurns: 10, perTool: false, autoPauseSeconds: null, autoResume: false },
      image: { digest: of.image.digest, env: { PATH: '/bin' } },
    } as const;
    const record = {
      id,
      kind: 'named',
      name,
      labels: { from: 'here' },
      inputs,
      sandbox: of.sandbox,
      owner: ada.owner,
    } as const;
    return this.snapshots.adopt({ ...record, blueprintDigest: 'blueprint-sha256:0' }, () =>
      this.storage.snapshot(of.sandbox, id, never),
    );
  }

  /** Everything about the tree of a snapshot. */
  describe(id: Id<'snapshot'>): Promise<string> {
    return this.storage.view(id, async ({ root }) => shell(`${describeTree}\ndescribe ${root}`), never);
  }

  async exported(id: string, thin = false, caller: Caller = ada): Promise<Buffer> {
    const answer = await this.archives.export(caller, id, thin, never);
    try {
      const chunks: Uint8Array[] = [];
      for await (const chunk of answer.write(never)) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      if (bytes.length !== answer.size) throw new Error(`it has ${bytes.length} bytes and promised ${answer.size}`);
      return bytes;
    } finally {
      await answer.close();
    }
  }

  imported(bytes: Buffer, request: { name?: string } = {}, caller: Caller = ada): Promise<Snapshot> {
    return this.archives.import(caller, pieces(bytes), request, never);
  }

  async close(): Promise<void> {
    await this.storage.close?.();
    await unmountBelow(this.host, this.folder);
    await this.host.close();
    await this.store.close();
    // Not by paths: some of the trees are deeper than any.
    shell(`rm -rf ${this.folder}`);
  }
}

export function shell(script: string, folder?: string): string {
  const env = { ...process.env, LC_ALL: 'C.UTF-8' };
  return execFileSync('bash', ['-c', script], { encoding: 'utf8', cwd: folder, env, maxBuffer: 64 * 1024 ** 2 });
}

/** As a request brings it. */
async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 60_000) yield bytes.subarray(at, at + 60_000);
}
