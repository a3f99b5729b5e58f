import type { ResolvedProfile, SandboxPolicy, WorkspaceBlueprint } from '@caisson/contract';
import type { RouteRequest } from '../routing/router.ts';
import { sizeOf } from './size.ts';

/** What of a request matters for where it goes. */
export function routeRequest(
  blueprint: WorkspaceBlueprint,
  profile: Pick<ResolvedProfile, 'route'> | undefined,
  policy: Pick<SandboxPolicy, 'autoPauseSeconds' | 'perTool'>,
  tenant: string,
  host?: string | undefined,
): RouteRequest {
  const { strategy, drivers, hosts, maxPricePerHourMicros } = profile?.route ?? {};
  const { cpuMillis, memoryMiB, diskMiB } = sizeOf(blueprint);
  return {
    blueprint,
    policy: { autoPause: policy.autoPauseSeconds !== null, snapshotTools: policy.perTool },
    tenant,
    size: { cpus: cpuMillis / 1000, memoryMiB, diskMiB },
    strategy,
    drivers,
    hosts,
    maxPricePerHourMicros,
    host,
  };
}
