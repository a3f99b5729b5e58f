import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Id, newId } from '@caisson/contract';
import { type GuestClient, HostClient } from '@caisson/guest';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { buildGuest } from '../../packages/guest/build.mjs';
import type { Attaching, Driver, InstanceKey, Measuring } from '../../packages/server/src/drivers/driver.ts';
import { InstanceFolder } from '../../packages/server/src/drivers/oci/instance-folder.ts';
import { OciDriver } from '../../packages/server/src/drivers/oci/oci-driver.ts';
import { unmountBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import type { Rootfs } from '../../packages/server/src/storage/storage.ts';
import { hostImage } from '../conformance/oci-world.ts';
import { slowness } from '../slowness.ts';

export const never = new AbortController().signal;
export type RuntimeUnderAttack = 'runc' | 'crun' | 'runsc';

export interface LaunchOptions {
  readonly memoryMiB?: number;
  readonly pids?: number;
  readonly quotaBytes?: number;
  /** Changes the image's tree before it is used. */
  readonly spoil?: (layer: string) => void;
}

/** Where sandboxes are attacked, whoever starts them. */
export interface AttackWorld {
  /** On this machine, for files that nobody inside may get to. */
  readonly folder: string;
  readonly driver: Driver & Measuring & Attaching;
  launch(options?: Pick<LaunchOptions, 'memoryMiB' | 'pids'>): Promise<Confined>;
  close(): Promise<void>;
}

/** A sandbox of our own storage that the tests attack from inside, and what is known of it outside. */
export interface Attacked extends Confined {
  readonly rootfs: Rootfs;
  readonly folder: InstanceFolder;
}

/** A sandbox that the tests attack from inside. */
export interface Confined {
  readonly key: InstanceKey;
  readonly id: Id<'sandbox'>;
  readonly guest: GuestClient;
  /** The guest's pid as the host sees it. */
  readonly pid: number;
  /** Runs a shell line as root inside, or as somebody else; answers what it said and how it ended. */
  sh(line: string, user?: string): Promise<{ code: number | undefined; said: string }>;
  /** The guest answers and runs programs, soon. */
  isWell(): Promise<boolean>;
}

/** Real sandboxes on a real runtime in a folder of their own, which `close` leaves without a trace. */
export class SandboxWorld {
  readonly folder: string;
  readonly root: string;
  readonly host: HostClient;
  readonly guestProgram: string;
  readonly storage: OverlayStorage;
  readonly driver: OciDriver;
  readonly #runtime: RuntimeUnderAttack;
  readonly #sandboxes: Id<'sandbox'>[] = [];

  private constructor(runtime: RuntimeUnderAttack) {
    this.#runtime = runtime;
    this.folder = mkdtempSync(join(tmpdir(), 'csn-'));
    chmodSync(this.folder, 0o711);
    const guestProgram = buildGuest({ quiet: true });
    this.guestProgram = guestProgram;
    this.root = join(this.folder, 'run');
    this.host = new HostClient(guestProgram);
    const places = { pool: join(this.folder, 'pool'), mounts: join(this.folder, 'mounts') };
    this.storage = new OverlayStorage({ ...places, host: this.host });
    this.driver = new OciDriver({ root: this.root, guestProgram, host: this.host });
  }

  static async open(runtime: RuntimeUnderAttack): Promise<SandboxWorld> {
    const world = new SandboxWorld(runtime);
    await world.driver.open(never);
    return world;
  }

  async launch(options: LaunchOptions = {}): Promise<Attacked> {
    const { memoryMiB = 256, pids = 128, quotaBytes } = options;
    const blueprint = normalizeUserWorkspaceSpec({
      source: { kind: 'none' },
      runtime: { ociRuntime: this.#runtime, network: { mode: 'off' }, resources: { memoryMiB, pids } },
    });
    const id = newId('sandbox');
    this.#sandboxes.push(id);
    const image = hostImage(mkdtempSync(join(this.folder, 'image-')));
    const [layer = ''] = image.layers;
    options.spoil?.(layer);
    const ownIds = this.driver.ownIds(blueprint);
    const quota = quotaBytes === undefined ? {} : { quotaBytes };
    const rootfs = await this.storage.prepare({ sandbox: id, image, ownIds, ...quota }, never);
    const key = { sandbox: id, incarnation: 1 };
    const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
    const labels = { 'caisson.installation': 'test' };
    await this.driver.create({ key, owner, labels, blueprint, rootfs }, never);
    const guest = await this.driver.guest(key, never);
    const folder = new InstanceFolder(this.root, InstanceFolder.nameOf(key));
    return { key, id, guest, rootfs, folder, pid: folder.pid() ?? 0, ...means(guest) };
  }

  async close(): Promise<void> {
    for (const name of InstanceFolder.names(this.root)) {
      const key = InstanceFolder.keyOf(name);
      if (key) await this.driver.destroy(key, never);
    }
    await this.driver.close();
    for (const id of this.#sandboxes) await this.storage.destroy(id, never);
    await unmountBelow(this.host, this.folder);
    await this.host.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function means(guest: GuestClient): Pick<Confined, 'sh' | 'isWell'> {
  return {
    async sh(line, user = 'root') {
      const argv = ['/bin/sh', '-c', `{ ${line}\n} 2>&1`];
      const { code, stdout } = await guest.processes.exec(argv, { user, timeoutMs: 10_000 * slowness });
      return { code, said: stdout.toString() };
    },
    async isWell() {
      const { code, stdout } = await guest.processes.exec(['/bin/echo', 'well'], { timeoutMs: 5_000 * slowness });
      return code === 0 && stdout.toString() === 'well\n';
    },
  };
}

/** A program of `native/`, compiled so that it runs in any image. */
export function compile(source: string, ...flags: string[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'csn-cc-'));
  const path = new URL(`native/${source}`, import.meta.url).pathname;
  const output = join(folder, 'program');
  try {
    execFileSync('cc', ['-static', '-Os', '-std=c11', '-D_GNU_SOURCE', ...flags, '-o', output, path]);
    return readFileSync(output);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
