import type { SandboxesUsage } from '@caisson/contract';
import type { Caller } from '../tenancy/caller.ts';
import type { Guests } from './guests.ts';
import type { Sandboxes } from './sandboxes.ts';

/** Asked at once: each is one or two small messages. */
const atOnce = 16;

/** What running sandboxes of a caller use at the moment. Looking at it is no use of them. */
export class SandboxesInUse {
  readonly #sandboxes: Sandboxes;
  readonly #guests: Guests;

  constructor(sandboxes: Sandboxes, guests: Guests) {
    this.#sandboxes = sandboxes;
    this.#guests = guests;
  }

  async list(caller: Caller, limit: number, signal: AbortSignal): Promise<SandboxesUsage> {
    const found = await this.#sandboxes.list(caller, { states: ['ready'], destroyedToo: false, limit: limit + 1 });
    const shown = found.slice(0, limit);
    const items: SandboxesUsage['items'] = [];
    for (let first = 0; first < shown.length; first += atOnce) {
      const some = shown.slice(first, first + atOnce).map(async ({ id, name, owner, driver }) => {
        // One that is ending just now, or does not answer, hides none of the others.
        const stats = await this.#guests.stats(caller, id, signal).catch(() => null);
        return { sandbox: id, name, owner, driver, stats };
      });
      items.push(...(await Promise.all(some)));
    }
    return { items, isWhole: found.length <= limit };
  }
}
