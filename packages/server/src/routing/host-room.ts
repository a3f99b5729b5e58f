import { totalmem } from 'node:os';
import type { Rejection } from '@caisson/contract';

/** Below this much, or this part of a large machine, the kernel begins to kill. */
const leastMemoryBytes = 256 * 1024 ** 2;
const leastMemoryPart = 0.02;
/** Memory does not run out within a second; looking for every sandbox would cost each of them. */
const keptMs = 1_000;

/** Why nothing more fits on a host: anywhere, or where root filesystems are kept. */
export interface Room {
  readonly memory?: Rejection | undefined;
  readonly storage?: Rejection | undefined;
}

export interface RoomSources {
  readonly availableBytes: () => number;
  readonly totalBytes: number;
  /** Why the storage takes no more, or nothing. */
  readonly storage: () => Promise<string | undefined>;
}

const here: Omit<RoomSources, 'storage'> = {
  availableBytes: () => process.availableMemory(),
  totalBytes: totalmem(),
};

/** Whether there is room for another sandbox on this host. */
export class HostRoom {
  readonly #sources: RoomSources;
  #seen: { readonly at: number; readonly room: Promise<Room> } | undefined;

  constructor(storage: RoomSources['storage'], sources: Partial<RoomSources> = {}) {
    this.#sources = { ...here, storage, ...sources };
  }

  look(): Promise<Room> {
    const now = performance.now();
    if (this.#seen === undefined || now - this.#seen.at > keptMs) this.#seen = { at: now, room: this.#find() };
    return this.#seen.room;
  }

  async #find(): Promise<Room> {
    const { availableBytes, totalBytes, storage } = this.#sources;
    const available = availableBytes();
    const least = Math.max(leastMemoryBytes, totalBytes * leastMemoryPart);
    // Storage that cannot be asked says so when it is used.
    const full = await storage().catch(() => undefined);
    return {
      memory: available < least ? { code: 'host_full', path: null, message: memoryText(available, least) } : undefined,
      storage: full === undefined ? undefined : { code: 'storage_full', path: null, message: full },
    };
  }
}

function memoryText(available: number, least: number): string {
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB`;
  return `${mebibytes(available)} of memory are available, fewer than ${mebibytes(least)}`;
}
