import { CaissonError, hasCode, type Sandbox } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import { withDeadline } from './deadline.ts';
import { keyOf } from './end.ts';
import type { LaunchPlan } from './launch.ts';
import { Progress } from './progress.ts';
import { hasSources, type PlacedSources, type SourceFacts } from './sources-port.ts';
import type { Deadlines, WorkContext } from './work-context.ts';

/**
 * What the refs of a sandbox's sources stand for, before anything is made; undefined where nothing is brought: files that
 * were kept, or come from a snapshot, have it. One that is made again gets the very same.
 */
export async function resolveSources(
  { store, sources, deadlines }: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  { blueprint, fromKept, from }: LaunchPlan,
  signal: AbortSignal,
): Promise<SourceFacts | undefined> {
  if (!sources || !driver.guest || fromKept || from || !hasSources(blueprint)) return undefined;
  const known = (await store.attempts.image(sandbox.id))?.sources;
  if (known) return known;
  return inTime('finding its sources', deadlines, signal, (inner) => sources.resolve(blueprint, sandbox.owner, inner));
}

/** Brings them, where there is a guest to put them in place. */
export async function placeSources(
  { store, sources, deadlines }: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  { blueprint, isConnected }: LaunchPlan,
  facts: SourceFacts,
  signal: AbortSignal,
): Promise<PlacedSources | undefined> {
  const guest = await driver.guest?.(keyOf(sandbox), signal);
  if (!sources || !guest) return undefined;
  const progress = new Progress(store, sandbox.id);
  const request = { guest, sandbox: sandbox.id, owner: sandbox.owner, blueprint, facts, isBuilt: false, isConnected };
  try {
    return await inTime('bringing its sources', deadlines, signal, (inner) =>
      sources.place({ ...request, progress: progress.tell, signal: inner }),
    );
  } finally {
    await progress.end();
  }
}

/** A source that takes too long is no fault of the backend: no other one would be quicker. */
async function inTime<T>(
  what: string,
  { sourcesMs }: Deadlines,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withDeadline(what, sourcesMs, signal, work);
  } catch (error) {
    if (!hasCode(error, 'driver_timeout') || signal.aborted) throw error;
    throw new CaissonError('source_unreachable', error.message);
  }
}
