import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import type { DataFolder } from './data-folder.ts';
import { DockerDriver } from './drivers/docker/docker-driver.ts';
import type { Driver } from './drivers/driver.ts';
import { FakeBackend } from './drivers/fake/fake-backend.ts';
import { FakeDriver } from './drivers/fake/fake-driver.ts';
import { OciDriver } from './drivers/oci/oci-driver.ts';
import { Images } from './images/images.ts';
import type { RegistryAccessOptions } from './images/registry/registry-access.ts';
import { BackendImages, imaging } from './sandbox/backend-images.ts';
import { Filesystems } from './sandbox/filesystems.ts';
import { chooseStorage, type StorageWanted } from './storage-choice.ts';

/** The `fake` driver is offered only to those who ask for it: what it makes runs nothing. */
export const driverNames = ['oci', 'docker', 'podman', 'fake'] as const;
export const defaultDrivers: readonly string[] = ['oci'];

/** Where the engines are that are driven by their API; each has a place where it is looked for otherwise. */
export interface Engines {
  readonly dockerHost?: string | undefined;
  readonly podmanHost?: string | undefined;
  /** A buildkitd to build with, in place of the BuildKit of a Docker engine. */
  readonly buildkitHost?: string | undefined;
  /** The folder with `ca.pem`, `cert.pem` and `key.pem` for an engine behind TLS. */
  readonly certFolder?: string | undefined;
}

export interface Backends {
  readonly drivers: readonly Driver[];
  readonly filesystems: Filesystems | undefined;
  readonly images: Images | undefined;
  readonly backendImages: BackendImages | undefined;
  /** What a killed server left half-made, and is gone now. */
  readonly recovered: readonly string[];
  close(): Promise<void>;
}

/** Opens these drivers, and what they stand on. */
export async function openBackends(
  folder: DataFolder,
  installation: string,
  wanted: readonly (string | Driver)[],
  storage?: StorageWanted,
  engines: Engines = {},
  registries: RegistryAccessOptions = {},
): Promise<Backends> {
  const names = wanted.filter((one) => typeof one === 'string');
  const unknown = names.find((name) => !(driverNames as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new CaissonError('driver_not_found', `there is no driver ${unknown}`, { context: { known: driverNames } });
  }
  const host = names.includes('oci') ? new HostClient(guestProgram(), { lock: folder.file('host.lock') }) : undefined;
  const runtime = runtimeFolder(folder, installation);
  const make: Record<string, () => Driver> = {
    oci: () => new OciDriver({ root: join(runtime, 'oci'), guestProgram: guestProgram(), host: host as HostClient }),
    docker: () => engineDriver('docker', folder, installation, engines.dockerHost, engines),
    podman: () => engineDriver('podman', folder, installation, engines.podmanHost, engines),
    fake: () => new FakeDriver({ backend: new FakeBackend(folder.file('fake')) }),
  };
  const drivers = [...new Set(wanted)].flatMap((one) => (typeof one === 'string' ? (make[one]?.() ?? []) : [one]));
  const needsImages = host !== undefined || drivers.some((driver) => imaging(driver) !== undefined);
  const images = needsImages
    ? new Images({ ...registries, folder: folder.file('images'), guestProgram: guestProgram() })
    : undefined;
  let filesystems: Filesystems | undefined;
  const recovered: string[] = [];
  const never = new AbortController().signal;
  const close = async () => {
    for (const driver of drivers) await driver.close?.();
    await filesystems?.close();
    await host?.close();
  };
  try {
    // From here on nothing of an earlier server is still at work.
    await host?.ping();
    if (host && images) {
      const { storage: chosen, why } = await chooseStorage(folder, runtime, host, storage);
      filesystems = new Filesystems(images, chosen, why);
    }
    if (process.getuid?.() === 0) recovered.push(...((await filesystems?.recover(never)) ?? []));
    if (!filesystems) recovered.push(...((await images?.recover(never)) ?? []));
    for (const driver of drivers) await driver.open?.(never);
  } catch (error) {
    await close();
    throw error;
  }
  return { drivers, filesystems, images, backendImages: images && new BackendImages(images), recovered, close };
}

function engineDriver(
  kind: 'docker' | 'podman',
  folder: DataFolder,
  installation: string,
  host: string | undefined,
  { certFolder }: Engines,
): Driver {
  const options = { kind, installation, host, certFolder, guestProgram: guestProgram() };
  return new DockerDriver({ ...options, folder: folder.file(kind) });
}

/**
 * What goes with the machine's next start: mounts, sockets, the state of runtimes. Not in the data folder, which may lie
 * where nobody but its owner can pass, and whose path may be too long for a socket.
 */
function runtimeFolder(folder: DataFolder, installation: string): string {
  return process.getuid?.() === 0 ? join('/run/caisson', installation) : folder.file('run');
}

/** The native program, as the build left it beside its package. */
export function guestProgram(): string {
  const given = process.env.CAISSON_GUEST_PROGRAM;
  if (given) return given;
  const guestPackage = createRequire(import.meta.url).resolve('@caisson/guest/package.json');
  const program = join(dirname(guestPackage), 'dist', 'native', process.arch, 'caisson-guest');
  if (existsSync(program)) return program;
  throw new CaissonError('driver_unavailable', 'the guest program has not been built', {
    hint: 'Install a C compiler (apt-get install gcc musl-tools) and run `npm run build`.',
  });
}
