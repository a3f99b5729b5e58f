import type { Id } from '@caisson/contract';
import type { InstanceKey } from '../driver.ts';

/** What an engine calls what belongs to one instance. */
export interface InstanceNames {
  /** As people and files have it. */
  readonly name: string;
  /** Its container. An engine has a name once, so there are never two. */
  readonly container: string;
  /** The same while it is kept without its processes. */
  readonly kept: string;
  /** The volume with its workspace, where its root is read-only. */
  readonly workspace: string;
}

const prefix = 'caisson-';
const keptPrefix = 'caisson-kept-';

export function namesOf(key: InstanceKey): InstanceNames {
  const name = `${key.sandbox}.${key.incarnation}`;
  return {
    name,
    container: `${prefix}${name}`,
    kept: `${keptPrefix}${name}`,
    workspace: `caisson-workspace-${name}`,
  };
}

export function isKept(container: string): boolean {
  return container.startsWith(keptPrefix);
}

export function keyOf(container: string): InstanceKey | undefined {
  const found = /^caisson-(sbx[a-z0-9]{20})\.([1-9]\d{0,9})$/.exec(container);
  if (!found) return undefined;
  return { sandbox: found[1] as Id<'sandbox'>, incarnation: Number(found[2]) };
}
