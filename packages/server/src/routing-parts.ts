import { existsSync, readFileSync } from 'node:fs';
import { type PriceTable, parseOrThrow, priceTableSchema } from '@caisson/contract';
import type { DataFolder } from './data-folder.ts';
import { readDocument } from './documents/read-document.ts';
import type { Driver } from './drivers/driver.ts';
import { BackendHealth } from './routing/backend-health.ts';
import { HostRoom } from './routing/host-room.ts';
import { overPrices, shippedPrices } from './routing/prices.ts';
import { Router } from './routing/router.ts';
import type { Filesystems } from './sandbox/filesystems.ts';
import { fillText } from './storage/pool-room.ts';
import type { Store } from './store/store.ts';

/** A server that is killed forgets this much of what it measured. */
const keepEveryMs = 5_000;

export interface Routing {
  readonly router: Router;
  readonly health: BackendHealth;
  /** Writes down what was measured, and stops. */
  close(): Promise<void>;
}

/** The router with what it knows: prices, what earlier servers measured, and the room on this host. */
export async function openRouting(
  folder: DataFolder,
  store: Store,
  drivers: readonly Driver[],
  host: string,
  filesystems: Filesystems | undefined,
): Promise<Routing> {
  const kept = await store.routes.measured();
  const health = new BackendHealth(
    kept.map(({ driver, host: where, ms, weight, at }) => ({ driver, host: where, mean: { ms, weight, at } })),
  );
  const room = new HostRoom(async () => whyFull(filesystems));
  const backends = drivers.map((driver) => ({ driver, host: driver.host ?? host }));
  const router = new Router({ backends, health, prices: readPrices(folder), room, here: host });
  const keep = () => store.routes.keep(health.takeChanged().map(({ mean, ...backend }) => ({ ...backend, ...mean })));
  // What cannot be written now is measured again.
  const timer = setInterval(() => void keep().catch(() => {}), keepEveryMs).unref();
  const close = async () => {
    clearInterval(timer);
    await keep().catch(() => {});
  };
  return { router, health, close };
}

async function whyFull(filesystems: Filesystems | undefined): Promise<string | undefined> {
  const health = await filesystems?.room.health();
  return health?.state === 'critical' ? `there is no room for another sandbox: ${fillText(health)}` : undefined;
}

/** The operator's own prices stand over those that ship. A table that is not valid stops the start. */
function readPrices(folder: DataFolder): PriceTable {
  const file = ['prices.yaml', 'prices.yml', 'prices.json'].find((name) => existsSync(folder.file(name)));
  if (file === undefined) return shippedPrices;
  const value = readDocument(readFileSync(folder.file(file), 'utf8'), 'request_invalid', file);
  return overPrices(shippedPrices, parseOrThrow(priceTableSchema, value, 'request_invalid', file));
}
