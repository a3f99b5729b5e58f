import { statfs } from 'node:fs/promises';
import type { Doctor } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import type { Builder } from '../images/builders/builder.ts';
import { checkSecrets } from '../network/secrets/check-secrets.ts';
import type { Vault } from '../network/secrets/vault.ts';
import { fillText } from '../storage/pool-room.ts';
import type { Store } from '../store/store.ts';
import type { Filesystems } from './filesystems.ts';

type Check = Doctor['checks'][number];

/** Less than this and the next image or snapshot fills the disk. */
const lowDiskBytes = 1024 ** 3;
/** Trying a runtime that emulates a kernel takes seconds on a busy machine. */
const timeoutMs = 20_000;

export interface Installation {
  readonly store: Store;
  readonly drivers: readonly Driver[];
  readonly folder: string;
  readonly filesystems?: Filesystems | undefined;
  readonly vault?: Vault | undefined;
  readonly builders?: readonly Builder[] | undefined;
  /** The one of them that is used. */
  readonly builder?: Builder | undefined;
}

/** What this installation can do, what it cannot, and what would change that. */
export async function checkAll(installation: Installation): Promise<Check[]> {
  const { store, drivers, folder, filesystems, vault, builders = [], builder } = installation;
  const signal = AbortSignal.timeout(timeoutMs);
  const checks = await Promise.all([
    checkNode(),
    checkStore(store),
    checkDisk(folder),
    ...(vault ? [checkStoredSecrets(store, vault)] : []),
    ...drivers.map((driver) => checkDriver(driver, signal)),
    ...(filesystems ? [checkStorage(filesystems, signal), filesystems.images.probe(signal)] : []),
    ...builders.map((one) => checkBuilder(one, one === builder, signal)),
  ]);
  return checks.flat();
}

function check(name: string, ok: boolean, detail: string, fix: string | null): Check {
  return { name, ok, detail, fix };
}

async function checkStorage({ storage, why }: Filesystems, signal: AbortSignal): Promise<Check> {
  const name = `storage ${storage.name}`;
  const probe = await storage.probe(signal);
  if (!probe.usable) return check(name, false, `${probe.why}; chosen because ${why}`, probe.fix);
  const health = await storage.health(signal);
  const degraded = health.state === 'ok' ? [] : ['degraded: the pool is nearly full'];
  return check(
    name,
    health.state !== 'critical',
    [probe.detail, ...degraded, fillText(health), `chosen because ${why}`].join('; '),
    health.state === 'ok' ? null : 'Destroy sandboxes or snapshots, or give the data folder more room.',
  );
}

async function checkNode(): Promise<Check> {
  return {
    name: 'node',
    ok: true,
    detail: `Node ${process.versions.node} on ${process.platform}/${process.arch}`,
    fix: null,
  };
}

async function checkStore(store: Store): Promise<Check> {
  try {
    await store.ping();
    return { name: 'database', ok: true, detail: store.engine, fix: null };
  } catch (error) {
    return {
      name: 'database',
      ok: false,
      detail: (error as Error).message,
      fix: 'Start the database, or correct CAISSON_DATABASE_URL.',
    };
  }
}

async function checkStoredSecrets(store: Store, vault: Vault): Promise<Check> {
  try {
    return await checkSecrets(store.secrets, vault);
  } catch (error) {
    return check('secrets', false, (error as Error).message, null);
  }
}

async function checkDisk(folder: string): Promise<Check> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const ok = free >= lowDiskBytes;
  return {
    name: 'disk',
    ok,
    detail: `${Math.round(free / 1024 ** 2)} MiB free in the data folder`,
    fix: ok ? null : 'Free some space, or move the data folder with --data.',
  };
}

async function checkBuilder(builder: Builder, isUsed: boolean, signal: AbortSignal): Promise<Check> {
  const trouble = await builder.probe(signal).catch((error: Error) => ({ why: error.message, fix: null }));
  const use = isUsed ? 'images are built with it' : `used with --builder ${builder.name}`;
  const own = check(`builder ${builder.name}`, !trouble, trouble?.why ?? use, trouble?.fix ?? null);
  return isUsed ? own : { ...own, optional: true };
}

async function checkDriver(driver: Driver, signal: AbortSignal): Promise<Check[]> {
  const name = `driver ${driver.name}`;
  try {
    const never = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const probe = await Promise.race([driver.probe(signal), never]);
    const own = probe.usable
      ? check(name, true, `${probe.detail} (version ${probe.version})`, null)
      : check(name, false, probe.why, probe.fix);
    const parts = probe.parts?.map((part) => ({
      ...(part.usable ? check(part.name, true, part.detail, null) : check(part.name, false, part.why, part.fix)),
      // One of them is enough, and whether there is one the driver's own line tells.
      optional: true,
    }));
    return [own, ...(parts ?? [])];
  } catch (error) {
    return [check(name, false, (error as Error).message, null)];
  }
}
