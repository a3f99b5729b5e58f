import { CaissonError, type ErrorCode, type WorkspaceBlueprint } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';

export interface Route {
  readonly driver: Driver;
  readonly notices: readonly string[];
}

/**
 * Which driver serves a blueprint: the one it names, else the first that supports it, among those that the profile allows
 * and in the profile's order. A driver that is only preferred
 * and not there gives way, and the notice says so.
 */
export function chooseDriver(
  installed: readonly Driver[],
  blueprint: WorkspaceBlueprint,
  allowed?: readonly string[],
): Route {
  const wanted = blueprint.target.runtime;
  const notices: string[] = [];
  const drivers = allowed
    ? allowed.flatMap((name) => installed.find((driver) => driver.name === name) ?? [])
    : installed;
  if (drivers.length === 0) {
    const known = installed.map((driver) => driver.name);
    throw new CaissonError('no_route', `none of the profile's drivers is installed: ${allowed?.join(', ')}`, {
      context: { known },
    });
  }
  let candidates = drivers;
  if (wanted.name !== 'auto') {
    const named = drivers.filter((driver) => driver.name === wanted.name);
    if (named.length > 0) candidates = named;
    else if (wanted.mode === 'require') {
      const known = drivers.map((driver) => driver.name);
      throw new CaissonError('driver_not_found', `there is no driver ${wanted.name}`, { context: { known } });
    } else notices.push(`The driver ${wanted.name} is not installed here; another one was taken.`);
  }
  const refused: { driver: string; reason: ErrorCode; path: string; message: string }[] = [];
  for (const driver of candidates) {
    const failures = driver.supports(blueprint);
    if (failures.length === 0) return { driver, notices };
    for (const { reason, path, message } of failures) refused.push({ driver: driver.name, reason, path, message });
  }
  const first = refused[0];
  if (first && candidates.length === 1) {
    const problems = refused.map(({ reason, path, message }) => ({ path, code: reason, message }));
    throw new CaissonError(first.reason, first.message, { problems, context: { driver: first.driver } });
  }
  throw new CaissonError('no_route', 'no driver supports this blueprint', { context: { candidates: refused } });
}
