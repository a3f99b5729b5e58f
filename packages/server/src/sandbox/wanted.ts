import type { Sandbox } from '@caisson/contract';
import type { Driver, InstanceKey } from '../drivers/driver.ts';

/**
 * Whether a record wants an instance that a driver has. A stopped or failed sandbox wants none; one on its way is its
 * action's own business. What another backend has of it is a try that failed there.
 */
export function isWanted(sandbox: Sandbox, key: InstanceKey, driver: string | null): boolean {
  if (sandbox.state === 'destroyed' || sandbox.driver !== driver) return false;
  if (sandbox.state === 'stopped' || sandbox.state === 'failed') return false;
  return sandbox.action !== null || sandbox.state === 'requested' || sandbox.incarnation === key.incarnation;
}

/** One that has failed is kept for whoever looks into it, until it is recreated or destroyed. */
export function wantsFilesystem(sandbox: Sandbox | undefined, drivers: readonly Driver[]): boolean {
  if (!sandbox || sandbox.state === 'destroyed') return false;
  const driver = drivers.find(({ name }) => name === sandbox.driver);
  // The files of one that went on to a backend with files of its own are those of a try that failed.
  if (driver && driver.capabilities.storage !== 'ours') return false;
  return sandbox.state !== 'stopped' || sandbox.persistence === 'persistent';
}
