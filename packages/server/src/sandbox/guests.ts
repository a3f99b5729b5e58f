import { CaissonError, canUse, includesScope, refusal, type Sandbox, type SandboxStats } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Driver, InstanceStats } from '../drivers/driver.ts';
import type { Usage } from '../storage/storage.ts';
import { type Caller, mayChange } from '../tenancy/caller.ts';
import { keyOf } from './end.ts';
import type { Idle } from './idle.ts';
import { resumeForUse } from './resume-for-use.ts';
import type { Runner } from './runner.ts';
import type { Sandboxes } from './sandboxes.ts';
import type { WorkContext } from './work-context.ts';

/** What for: to look, which everybody may who sees the sandbox, or to change something in it. */
export type Access = 'read' | 'use';

/** One request or connection, for as long as it lasts. */
export interface Visit {
  /** Ends with the server. */
  readonly shutdown: AbortSignal;
  /** Does this at its end, however it ends. */
  onEnd(end: () => void): void;
}

export interface GuestsContext {
  readonly work: WorkContext;
  readonly runner: Runner;
  readonly sandboxes: Sandboxes;
  readonly idle: Idle;
}

/** The way from a caller to the guest of one of their sandboxes: everything that happens inside goes through here. */
export class Guests {
  readonly #context: GuestsContext;

  constructor(context: GuestsContext) {
    this.#context = context;
  }

  /**
   * The guest of a sandbox that the caller may see, or change, and that is ready; with its record. It counts as used
   * until the visit ends. One that is paused is resumed first, where its policy says so.
   */
  async of(
    caller: Caller,
    id: string,
    access: Access,
    visit: Visit,
  ): Promise<{ sandbox: Sandbox; guest: GuestClient }> {
    const seen = await this.#seen(caller, id, access);
    visit.onEnd(this.#context.idle.visit(seen.id));
    const sandbox = await this.#awake(caller, seen);
    requireReady(sandbox);
    const driver = this.#context.work.driver(sandbox.driver);
    if (!driver.guest) throw new CaissonError('exec_not_available', `the driver ${driver.name} runs nothing`);
    return { sandbox, guest: await driver.guest(keyOf(sandbox), visit.shutdown) };
  }

  /** A visit that goes another way than through here; what it gives is called at its end. */
  visit(id: Sandbox['id']): () => void {
    return this.#context.idle.visit(id);
  }

  /** What the backend counts where it does, and what only the inside knows. Looking at it is no use. */
  async stats(caller: Caller, id: string, signal: AbortSignal): Promise<SandboxStats> {
    const sandbox = await this.#seen(caller, id, 'read');
    requireReady(sandbox);
    const driver = this.#context.work.driver(sandbox.driver);
    const key = keyOf(sandbox);
    const [outside, inside, disk] = await Promise.all([
      driver.stats?.(key, signal),
      driver.guest?.(key, signal).then((guest) => guest.stats(signal)),
      this.#disk(sandbox, driver, signal),
    ]);
    const counted: InstanceStats | undefined =
      outside ??
      (inside && {
        cpuSeconds: inside.cpuMilliseconds / 1000,
        memoryBytes: inside.memoryBytes,
        processes: inside.processes,
      });
    if (!counted) throw new CaissonError('stats_not_available', `the driver ${driver.name} counts nothing`);
    return {
      ...counted,
      diskUsedBytes: disk?.exclusiveBytes ?? inside?.diskUsedBytes ?? null,
      diskTotalBytes: disk?.quotaBytes ?? inside?.diskTotalBytes ?? null,
      uptimeSeconds: inside ? inside.uptimeMs / 1000 : null,
    };
  }

  /** Where a sandbox shares a filesystem with others, the inside sees all of it; its own part is known to storage. */
  async #disk(sandbox: Sandbox, driver: Driver, signal: AbortSignal): Promise<Usage | undefined> {
    const storage = driver.capabilities.storage === 'ours' ? this.#context.work.filesystems?.storage : undefined;
    return storage?.capabilities.ownDisk === false ? storage.usage(sandbox.id, signal, { recent: true }) : undefined;
  }

  /** Whoever may only look does not change whether it runs. */
  async #awake(caller: Caller, seen: Sandbox): Promise<Sandbox> {
    const { autoPauseSeconds, autoResume } = seen.policy;
    // Its state was read before the visit counted: by now it may be about to be paused.
    const sandbox = autoPauseSeconds === null ? seen : await this.#context.sandboxes.get(caller, seen.id);
    if (!autoResume || !mayChange(caller, sandbox) || !includesScope(caller.scope, 'use')) return sandbox;
    return resumeForUse(this.#context, sandbox);
  }

  async #seen(caller: Caller, id: string, access: Access): Promise<Sandbox> {
    const { sandboxes } = this.#context;
    return access === 'use' ? sandboxes.own(caller, id) : sandboxes.get(caller, id);
  }
}

function requireReady(sandbox: Sandbox): void {
  if (canUse('exec', sandbox.state)) return;
  throw new CaissonError(refusal(sandbox.state), `${sandbox.id} is ${sandbox.state}: nothing can be done in it now`);
}
