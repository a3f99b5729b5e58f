import { CaissonError, canUse, refusal, type Sandbox, type SandboxStats } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Driver, InstanceStats } from '../drivers/driver.ts';
import { type Caller, requireChange } from '../tenancy/caller.ts';
import { keyOf } from './end.ts';
import type { Sandboxes } from './sandboxes.ts';
import type { WorkContext } from './work-context.ts';

/** What for: to look, which everybody may who sees the sandbox, or to change something in it. */
export type Access = 'read' | 'use';

/** The way from a caller to the guest of one of their sandboxes: everything that happens inside goes through here. */
export class Guests {
  readonly #work: WorkContext;
  readonly #sandboxes: Sandboxes;

  constructor(work: WorkContext, sandboxes: Sandboxes) {
    this.#work = work;
    this.#sandboxes = sandboxes;
  }

  /** The guest of a sandbox that the caller may see, or change, and that is ready; with its record. */
  async of(
    caller: Caller,
    id: string,
    access: Access,
    signal: AbortSignal,
  ): Promise<{ sandbox: Sandbox; guest: GuestClient }> {
    const { sandbox, driver } = await this.#ready(caller, id, access);
    if (!driver.guest) throw new CaissonError('exec_not_available', `the driver ${driver.name} runs nothing`);
    return { sandbox, guest: await driver.guest(keyOf(sandbox), signal) };
  }

  /** What the backend counts where it does, and what only the inside knows. */
  async stats(caller: Caller, id: string, signal: AbortSignal): Promise<SandboxStats> {
    const { sandbox, driver } = await this.#ready(caller, id, 'read');
    const key = keyOf(sandbox);
    const [outside, inside] = await Promise.all([
      driver.stats?.(key, signal),
      driver.guest?.(key, signal).then((guest) => guest.stats(signal)),
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
      diskUsedBytes: inside?.diskUsedBytes ?? null,
      diskTotalBytes: inside?.diskTotalBytes ?? null,
      uptimeSeconds: inside ? inside.uptimeMs / 1000 : null,
    };
  }

  async #ready(caller: Caller, id: string, access: Access): Promise<{ sandbox: Sandbox; driver: Driver }> {
    const sandbox = await this.#sandboxes.get(caller, id);
    if (access === 'use') requireChange(caller, sandbox);
    if (!canUse('exec', sandbox.state)) {
      throw new CaissonError(
        refusal(sandbox.state),
        `${sandbox.id} is ${sandbox.state}: nothing can be done in it now`,
      );
    }
    return { sandbox, driver: this.#work.driver(sandbox.driver) };
  }
}
