import type { Driver } from '../../drivers/driver.ts';
import { end } from '../end.ts';
import type { Runner } from '../runner.ts';
import type { WorkContext } from '../work-context.ts';
import { instanceName, type UnownedPass } from './unowned.ts';

/**
 * Ends what is left on the machine of instances that are not there any more: groups of processes without the folder by
 * which their instance would be listed. Installations share the place where groups are, so only what a record knows is
 * ours; no record, no touch.
 */
export async function endLeftGroups(
  work: WorkContext,
  runner: Runner,
  driver: Driver,
  { log, signal }: Pick<UnownedPass, 'log' | 'signal'>,
): Promise<void> {
  for (const key of (await driver.leftovers?.(signal)) ?? []) {
    await runner.whileIdle(key.sandbox, async () => {
      const sandbox = await work.store.sandboxes.get(key.sandbox);
      if (sandbox?.driver !== driver.name || sandbox.action !== null) return;
      // What cannot be ended now is tried again at the next pass.
      const isEnded = await end(work, key, { driver: driver.name }, signal).then(
        () => true,
        () => false,
      );
      const found = `the control group of ${instanceName(key)}, without its instance`;
      if (isEnded) await log.tell({ kind: 'group', sandbox: key.sandbox, driver: driver.name, found, did: 'reaped' });
    });
  }
}
