import { CaissonError } from '@caisson/contract';
import type { PoolHealth } from './storage.ts';

/** A pool does not fill within a second; looking at it for every sandbox would cost each of them. */
const keptMs = 1_000;

/** Whether there is room for another sandbox. */
export class PoolRoom {
  readonly #look: () => Promise<PoolHealth>;
  #seen: { readonly atMs: number; readonly health: Promise<PoolHealth> } | undefined;

  constructor(look: () => Promise<PoolHealth>) {
    this.#look = look;
  }

  health(): Promise<PoolHealth> {
    const now = performance.now();
    if (this.#seen === undefined || now - this.#seen.atMs > keptMs) {
      const health = this.#look();
      this.#seen = { atMs: now, health };
      health.catch(() => {
        this.#seen = undefined;
      });
    }
    return this.#seen.health;
  }

  async require(): Promise<void> {
    const health = await this.health();
    if (health.state !== 'critical') return;
    throw new CaissonError('storage_full', `there is no room for another sandbox: ${fillText(health)}`, {
      hint: 'Destroy sandboxes or snapshots, or give the disk of the data folder more room.',
    });
  }
}

/** How full a pool is, for people. */
export function fillText({ detail, freeBytes, totalBytes }: Omit<PoolHealth, 'state'>): string {
  const used = totalBytes === 0 ? 100 : Math.floor((1 - freeBytes / totalBytes) * 100);
  return `${detail} is ${used} % full, ${sizeText(freeBytes)} of ${sizeText(totalBytes)} are free`;
}

function sizeText(bytes: number): string {
  const gib = bytes / 1024 ** 3;
  return gib >= 1 ? `${gib.toFixed(gib < 10 ? 1 : 0)} GiB` : `${Math.round(bytes / 1024 ** 2)} MiB`;
}
