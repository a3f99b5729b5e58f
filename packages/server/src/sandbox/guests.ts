import { CaissonError, canUse, refusal, type Sandbox } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Caller } from '../tenancy/caller.ts';
import { keyOf } from './end.ts';
import type { Sandboxes } from './sandboxes.ts';
import type { WorkContext } from './work-context.ts';

/** The way from a caller to the guest of one of their sandboxes: everything that happens inside goes through here. */
export class Guests {
  readonly #work: WorkContext;
  readonly #sandboxes: Sandboxes;

  constructor(work: WorkContext, sandboxes: Sandboxes) {
    this.#work = work;
    this.#sandboxes = sandboxes;
  }

  /** The guest of a sandbox that the caller may see and that is ready, with its record. */
  async of(caller: Caller, id: string, signal: AbortSignal): Promise<{ sandbox: Sandbox; guest: GuestClient }> {
    const sandbox = await this.#sandboxes.get(caller, id);
    if (!canUse('exec', sandbox.state)) {
      throw new CaissonError(
        refusal(sandbox.state),
        `${sandbox.id} is ${sandbox.state}: nothing can be done in it now`,
      );
    }
    const driver = this.#work.driver(sandbox.driver);
    if (!driver.guest) throw new CaissonError('exec_not_available', `the driver ${driver.name} runs nothing`);
    return { sandbox, guest: await driver.guest(keyOf(sandbox), signal) };
  }
}
