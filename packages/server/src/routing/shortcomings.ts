import type { Rejection, WorkspaceBlueprint } from '@caisson/contract';
import type { Capabilities, Driver } from '../drivers/driver.ts';

/** What happens to a sandbox by itself, as far as a backend must be able to do it. */
export interface WantedPolicy {
  readonly autoPause: boolean;
  readonly snapshotTools: boolean;
}

/**
 * What a driver lacks for a blueprint. A limit that is named, a network that is narrower than open and files that shall
 * stay are required: without them the sandbox would be more, or less, than somebody relies on. An open network, a limit to
 * the disk, which most engines cannot set, and what happens by itself are preferred.
 */
export function shortcomings(
  driver: Driver,
  blueprint: WorkspaceBlueprint,
  policy: WantedPolicy,
): { readonly rejections: readonly Rejection[]; readonly unmet: readonly string[] } {
  const { capabilities } = driver;
  const { network, resources, persistence, readOnlyRoot } = blueprint.runtime;
  const rejections: Rejection[] = driver
    .supports(blueprint)
    .map(({ reason, path, message }) => ({ code: reason, path, message }));
  const unmet: string[] = [];
  if (!capabilities.networkModes.includes(network.mode)) {
    const path = 'runtime.network.mode';
    if (network.mode === 'open') unmet.push(path);
    else
      rejections.push({
        code: 'network_not_available',
        path,
        message: `it has no network of the mode ${network.mode}`,
      });
  }
  for (const name of Object.keys(resources) as (keyof typeof resources)[]) {
    if (capabilities.limits.includes(name)) continue;
    const path = `runtime.resources.${name}`;
    if (name === 'diskMiB') unmet.push(path);
    else rejections.push({ code: 'unsupported-runtime-requirement', path, message: `it cannot limit ${name}` });
  }
  if (persistence === 'persistent' && !keepsFiles(capabilities)) {
    const message = 'it cannot keep the filesystem of a stopped sandbox';
    rejections.push({ code: 'stop_not_available', path: 'runtime.persistence', message });
  }
  if (readOnlyRoot === true && capabilities.readOnlyRoot !== true) {
    const message = 'it cannot make its root filesystem read-only';
    rejections.push({ code: 'unsupported-runtime-requirement', path: 'runtime.readOnlyRoot', message });
  }
  if (policy.autoPause && capabilities.pause === 'none') unmet.push('autoPauseSeconds');
  if (policy.snapshotTools && capabilities.snapshots === 'none') unmet.push('snapshots.perTool');
  return { rejections, unmet };
}

function keepsFiles({ storage, halt }: Capabilities): boolean {
  return storage === 'ours' || halt;
}
