import type { Id } from '@caisson/contract';
import type { Driver } from '../../drivers/driver.ts';
import { withDeadline } from '../deadline.ts';
import type { Runner } from '../runner.ts';
import { wantsFilesystem } from '../wanted.ts';
import type { WorkContext } from '../work-context.ts';
import type { UnownedPass } from './unowned.ts';

/** What a pass has seen of instances by the time it looks at files. */
export interface FilesPass extends UnownedPass {
  /** Sandboxes that were just seen to want what they have; their records need not be read again. */
  readonly inUse: ReadonlySet<string>;
  /** Every backend that stands on these files has told what it runs. */
  readonly isAllSeen: boolean;
}

/**
 * Root filesystems that no record wants are removed: at once where the record says so, after a grace time where there is
 * none, and never while something may run in them.
 */
export class LeftFiles {
  readonly #work: WorkContext;
  readonly #runner: Runner;
  readonly #drivers: readonly Driver[];

  constructor(work: WorkContext, runner: Runner, drivers: readonly Driver[]) {
    this.#work = work;
    this.#runner = runner;
    this.#drivers = drivers;
  }

  async pass(pass: FilesPass): Promise<void> {
    const { filesystems } = this.#work;
    if (!filesystems) return;
    const { sandboxes } = await filesystems.storage.list(pass.signal);
    for (const id of sandboxes.filter((one) => !pass.inUse.has(one))) await this.#look(id, pass);
  }

  async #look(id: Id<'sandbox'>, pass: FilesPass): Promise<void> {
    const { store } = this.#work;
    if (wantsFilesystem(await store.sandboxes.get(id), this.#drivers)) return;
    await this.#runner.whileIdle(id, async () => {
      const sandbox = await store.sandboxes.get(id);
      if (wantsFilesystem(sandbox, this.#drivers)) return;
      if (sandbox || pass.rooms.has(id)) return this.#remove(id, 'a root filesystem that no record wants', pass);
      if (!pass.isAllSeen || pass.standing.has(id)) return;
      const found = 'a root filesystem without a record';
      const seen = pass.grace.see(filesGraceName(id));
      if (seen === 'over') return this.#remove(id, found, pass);
      if (seen === 'waiting') return;
      const told = `${found}; it is removed in ${pass.graceSeconds} s`;
      await pass.log.tell({ kind: 'filesystem', sandbox: id, found: told, did: 'reported' });
    });
  }

  /** What cannot be removed now is tried again at the next pass. */
  async #remove(id: Id<'sandbox'>, found: string, { log, signal }: FilesPass): Promise<void> {
    const { deadlines, filesystems } = this.#work;
    const isRemoved = await withDeadline('removing the filesystem', deadlines.endMs, signal, async (inner) =>
      filesystems?.remove(id, inner),
    ).then(
      () => true,
      () => false,
    );
    if (isRemoved) await log.tell({ kind: 'filesystem', sandbox: id, found, did: 'reaped' });
  }
}

/** What the grace time of files is counted under. */
export function filesGraceName(sandbox: string): string {
  return `files ${sandbox}`;
}
