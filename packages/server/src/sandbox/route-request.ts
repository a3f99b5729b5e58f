import { availableParallelism } from 'node:os';
import type { ResolvedProfile, SandboxPolicy, WorkspaceBlueprint } from '@caisson/contract';
import type { RouteRequest } from '../routing/router.ts';
import { withHostDefaults } from './host-defaults.ts';

/** What of a request matters for where it goes. */
export function routeRequest(
  blueprint: WorkspaceBlueprint,
  profile: Pick<ResolvedProfile, 'route'> | undefined,
  policy: Pick<SandboxPolicy, 'autoPauseSeconds' | 'perTool'>,
  tenant: string,
  host?: string | undefined,
): RouteRequest {
  const { strategy, drivers, hosts, maxPricePerHourMicros } = profile?.route ?? {};
  const { cpus = availableParallelism(), memoryMiB = 0 } = withHostDefaults(blueprint.runtime.resources);
  return {
    blueprint,
    policy: { autoPause: policy.autoPauseSeconds !== null, snapshotTools: policy.perTool },
    tenant,
    size: { cpus, memoryMiB },
    strategy,
    drivers,
    hosts,
    maxPricePerHourMicros,
    host,
  };
}
