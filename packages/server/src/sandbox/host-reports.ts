import { statfs } from 'node:fs/promises';
import { availableParallelism, loadavg, release, totalmem, uptime } from 'node:os';
import { type HostReport, type InstallationCapabilities, profileRef, routeStrategies } from '@caisson/contract';
import type { Driver, Probe } from '../drivers/driver.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import type { Router } from '../routing/router.ts';
import type { Limits } from '../store/limits.ts';
import type { Store } from '../store/store.ts';
import { DriverProbes } from './driver-probes.ts';
import type { Filesystems } from './filesystems.ts';
import type { WarmPools } from './pools/warm-pools.ts';

export interface HostReportsContext {
  readonly store: Store;
  readonly drivers: readonly Driver[];
  readonly router: Router;
  readonly pools: WarmPools;
  readonly profiles: ProfileCatalog;
  readonly filesystems: Filesystems | undefined;
  readonly limits: Limits;
  readonly host: string;
  readonly folder: string;
  readonly version: string;
}

/** How the host does, and what the installation can do. */
export class HostReports {
  readonly #context: HostReportsContext;
  readonly #probes: DriverProbes;

  constructor(context: HostReportsContext) {
    this.#context = context;
    this.#probes = new DriverProbes(context.drivers);
  }

  async inspect(): Promise<HostReport> {
    const { store, router, pools, host, folder, version, limits } = this.#context;
    const [probes, byState, hosts, disk, storage, room] = await Promise.all([
      this.#probes.all(),
      store.sandboxes.countByState(),
      store.hosts.list(),
      statfs(folder),
      this.#storage(),
      router.look(),
    ]);
    const own = hosts.find(({ name }) => name === host);
    const max = own?.maxSandboxes ?? limits.sandboxesPerHost;
    const live = own?.liveSandboxes ?? 0;
    const isFull = max !== null && live >= max;
    const full = { code: 'max_sandboxes_reached', path: null, message: `it may have ${max} and has them` } as const;
    return {
      name: host,
      version,
      node: process.versions.node,
      kernel: release(),
      uptimeSeconds: Math.round(uptime()),
      cpus: availableParallelism(),
      load: loadavg() as [number, number, number],
      memory: { totalBytes: totalmem(), availableBytes: process.availableMemory() },
      disk: { totalBytes: disk.blocks * disk.bsize, freeBytes: disk.bavail * disk.bsize },
      storage,
      sandboxes: { live, max, byState, inPools: pools.show().reduce((sum, { ready }) => sum + ready, 0) },
      lacks: [
        ...(room.memory ? [room.memory] : []),
        ...(room.storage ? [room.storage] : []),
        ...(isFull ? [full] : []),
      ],
      drivers: probes.map(({ driver, probe }) => {
        const backend = { driver: driver.name, host: driver.host ?? host };
        return {
          ...shown(driver, probe),
          trust: router.health.state(backend),
          latencyMs: router.health.latencyMs(backend),
        };
      }),
    };
  }

  /** How many drivers can be used, and how many are left alone because they failed of late. */
  async driverTrouble(): Promise<{ readonly usable: number; readonly troubled: number }> {
    const { router, host } = this.#context;
    const probes = await this.#probes.all();
    const isTroubled = ({ driver }: (typeof probes)[number]) =>
      router.health.state({ driver: driver.name, host: driver.host ?? host }) === 'open';
    return {
      usable: probes.filter(({ probe }) => probe.usable).length,
      troubled: probes.filter((one) => one.probe.usable && isTroubled(one)).length,
    };
  }

  async capabilities(): Promise<InstallationCapabilities> {
    const { drivers, filesystems, profiles, router, limits, version } = this.#context;
    const probes = await this.#probes.all();
    const storage = filesystems?.storage;
    return {
      version,
      api: 'v1',
      drivers: probes.map(({ driver, probe }) => ({
        ...shown(driver, probe),
        capabilities: { ...driver.capabilities },
        runtimes: (probe.parts ?? []).map((part) => ({
          name: part.name.replace(/^.*\bruntime /, ''),
          usable: part.usable,
          detail: part.usable ? part.detail : part.why,
        })),
      })),
      storage: storage ? { name: storage.name, ...storage.capabilities } : null,
      networkModes: [...new Set(drivers.flatMap(({ capabilities }) => capabilities.networkModes))],
      profiles: profiles.list().map(profileRef),
      strategies: [...routeStrategies],
      hosts: [...new Set(router.backends.map(({ host }) => host))],
      limits: { sandboxesPerTenant: limits.sandboxesPerTenant, sandboxesPerHost: limits.sandboxesPerHost },
      pricesAsOf: router.prices.asOf,
    };
  }

  async #storage(): Promise<HostReport['storage']> {
    const { filesystems } = this.#context;
    if (!filesystems) return null;
    const { state, totalBytes, freeBytes } = await filesystems.room.health();
    return { name: filesystems.storage.name, why: filesystems.why, state, totalBytes, freeBytes };
  }
}

function shown({ name }: Driver, probe: Probe) {
  return probe.usable
    ? { name, usable: true, version: probe.version, detail: probe.detail, fix: null }
    : { name, usable: false, version: null, detail: probe.why, fix: probe.fix };
}
