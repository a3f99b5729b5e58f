import type { Sandbox } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import { keyOf } from './end.ts';
import type { LaunchPlan } from './launch-plan.ts';
import { Progress } from './progress.ts';
import { hasSources, type SourceFacts } from './sources-port.ts';
import { startsSomething, startUp } from './startup.ts';
import type { WorkContext } from './work-context.ts';

/** What comes from elsewhere is brought in, then the startup steps run, then its foreground begins. */
export async function furnish(
  context: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  { attempt, blueprint, isConnected, fromKept, from }: LaunchPlan,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { imageChoice, store, deadlines } = context;
  const sources = imageChoice?.sources;
  // Files that were kept, or are another sandbox's, have what it brought in.
  const isPlaced = fromKept || from !== undefined || !hasSources(blueprint);
  const hasStartup = startsSomething(blueprint);
  if (!driver.guest || ((isPlaced || !sources) && !hasStartup)) return [];
  const guest = await driver.guest(keyOf(sandbox), signal);
  const progress = new Progress(store, sandbox.id);
  const isBuilt = imageChoice?.isBuilt(blueprint) ?? false;
  try {
    const placed =
      isPlaced || !sources
        ? undefined
        : await sources.place({
            guest,
            sandbox: sandbox.id,
            owner: sandbox.owner,
            blueprint,
            facts: (attempt.sources ?? {}) as SourceFacts,
            isBuilt,
            isConnected,
            progress: progress.tell,
            signal,
          });
    await startUp({
      guest,
      attempt: attempt.id,
      blueprint,
      hasHarness: isBuilt,
      deadlineMs: deadlines.startupMs,
      progress: progress.tell,
      signal,
    });
    return placed?.notices ?? [];
  } finally {
    await progress.end();
  }
}
