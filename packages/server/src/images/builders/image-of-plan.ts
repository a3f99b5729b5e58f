import { CaissonError } from '@caisson/contract';
import { canonicalJson, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { planDigest } from '@caisson/workspace-composition/digest';
import { digestOf } from '../digest.ts';
import type { ImageRecord } from '../image-records.ts';
import { machineArchitecture } from '../oci/platform.ts';
import { billOfMaterials } from '../plan/bill-of-materials.ts';
import { fromRecord, type Workshop } from '../ways/workshop.ts';
import type { BuildRequest, BuiltImage } from './builder.ts';
import { installedPackages } from './installed-packages.ts';
import type { KeptImage } from './kept-steps.ts';

/** What a plan has become, whoever built it: the layers of its base and of its steps, and the bill of what is in them. */
export async function imageOfPlan(
  plan: ResolvedImagePlan,
  base: ImageRecord,
  diffIds: readonly string[],
  workshop: Workshop,
): Promise<KeptImage> {
  const installed = await installedPackages(diffIds.map((diffId) => workshop.layers.folderOf(diffId)));
  return {
    record: recordOf(plan, base, diffIds),
    bill: installed === undefined && plan.packages.length > 0 ? null : billOfMaterials(plan, installed),
  };
}

function recordOf(plan: ResolvedImagePlan, base: ImageRecord, diffIds: readonly string[]): ImageRecord {
  const config = { ...base.config, env: { ...base.config.env, ...plan.env } };
  return {
    digest: digestOf(canonicalJson({ diffIds, config, platform: plan.platform, labels: plan.labels })),
    name: `${base.name} with ${planDigest(plan).slice(0, 'plan-sha256:'.length + 12)}`,
    diffIds: [...diffIds],
    config,
    notices: base.notices,
    madeAt: new Date().toISOString(),
  };
}

export function builtImage({ record, bill }: KeptImage, workshop: Workshop): BuiltImage {
  return { ...fromRecord(record, workshop), billOfMaterials: bill };
}

export function requirePlatform({ plan: { platform } }: BuildRequest): void {
  const here = machineArchitecture();
  if (platform.os === 'linux' && platform.architecture === here) return;
  throw new CaissonError(
    'unsupported-os',
    `the plan is for ${platform.os}/${platform.architecture}, and this machine is linux/${here}`,
    { hint: 'Build it on a machine of that kind.' },
  );
}
