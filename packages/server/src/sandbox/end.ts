import type { Sandbox } from '@caisson/contract';
import type { InstanceKey } from '../drivers/driver.ts';
import { withDeadline } from './deadline.ts';
import type { WorkContext } from './work-context.ts';

export function keyOf(sandbox: Sandbox, offset = 0): InstanceKey {
  return { sandbox: sandbox.id, incarnation: sandbox.incarnation + offset };
}

/** Removes an instance; what is not there is removed already. */
export async function end(
  context: WorkContext,
  key: InstanceKey,
  sandbox: Pick<Sandbox, 'driver'>,
  signal: AbortSignal,
): Promise<void> {
  const driver = context.driver(sandbox.driver);
  await withDeadline('removing the instance', context.deadlines.endMs, signal, (inner) => driver.destroy(key, inner));
}

/** Ends the processes of an instance. The filesystem of a persistent sandbox is kept, where the backend owns it. */
export async function haltOrEnd(
  context: WorkContext,
  key: InstanceKey,
  sandbox: Pick<Sandbox, 'driver' | 'persistence'>,
  signal: AbortSignal,
): Promise<void> {
  const driver = context.driver(sandbox.driver);
  const { halt } = driver;
  if (sandbox.persistence !== 'persistent' || !halt) return end(context, key, sandbox, signal);
  await withDeadline('stopping', context.deadlines.endMs, signal, (inner) => halt.call(driver, key, inner));
}

/** Removes the filesystem of a sandbox where it is ours; what is not there is removed already. */
export async function removeFilesystem(
  context: WorkContext,
  sandbox: Pick<Sandbox, 'id' | 'driver'>,
  signal: AbortSignal,
): Promise<void> {
  const { filesystems } = context;
  if (!filesystems || context.driver(sandbox.driver).capabilities.storage !== 'ours') return;
  await withDeadline('removing the filesystem', context.deadlines.endMs, signal, (inner) =>
    filesystems.remove(sandbox.id, inner),
  );
}
