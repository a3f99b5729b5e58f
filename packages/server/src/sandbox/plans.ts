import type { Agent } from 'node:https';
import { CaissonError, type InputValues, type WorkspaceBlueprint } from '@caisson/contract';
import { type ImageDigest, platformSchema, type ResolvedImagePlan } from '@caisson/workspace-composition';
import type { BaseImage, Images } from '../images/images.ts';
import { machineArchitecture } from '../images/oci/platform.ts';
import { DebianIndexes } from '../images/packages/debian-index/debian-indexes.ts';
import { machineSuites } from '../images/packages/debian-index/machine-suites.ts';
import { type PackageNameClient, PackageNameService } from '../images/packages/name-service.ts';
import { pinBase } from '../images/plan/pin-base.ts';
import { Planner, type ProposedPlan } from '../images/plan/planner.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import { canaryProfile } from '../profiles/shipped.ts';
import { compose } from './compose.ts';
import type { SourceFacts } from './sources-port.ts';

export interface PlansOptions {
  readonly profiles: ProfileCatalog;
  readonly images: Images | undefined;
  /** `<data>/package-index`. */
  readonly indexFolder: string;
  /** For TLS: says whom to trust, where that is more than the process trusts. */
  readonly agent?: Agent | undefined;
  /** Is asked for names that are known nowhere else. */
  readonly names?: PackageNameClient | undefined;
}

export interface PlanRequest {
  readonly spec?: Readonly<Record<string, unknown>> | undefined;
  readonly profile?: string | undefined;
  readonly inputs?: InputValues | undefined;
}

/** What would be built for a request, told without building it. */
export class Plans {
  readonly #profiles: ProfileCatalog;
  readonly #planner: Planner | undefined;

  constructor({ profiles, images, indexFolder, agent, names }: PlansOptions) {
    this.#profiles = profiles;
    const platform = platformSchema.safeParse({ os: 'linux', architecture: machineArchitecture() }).data;
    this.#planner =
      platform &&
      new Planner({
        platform,
        indexes: new DebianIndexes({
          folder: indexFolder,
          suitesOf: async (release, signal) =>
            (await machineSuites(release, signal)).map((suite) => ({ ...suite, agent })),
        }),
        pinBase: async (blueprint, place, signal) =>
          images === undefined
            ? 'this server has no images: the base is not known'
            : pinBase(images, blueprint, place, signal),
        names: names && new PackageNameService({ client: names }),
      });
  }

  async make({ spec, profile, inputs = {} }: PlanRequest, signal: AbortSignal): Promise<ProposedPlan> {
    // As create has it: without a spec it is the canary.
    const given = profile ?? (spec === undefined ? canaryProfile.name : undefined);
    const found = given === undefined ? undefined : this.#profiles.get(given);
    return this.propose(compose(found, inputs, spec ?? {}).blueprint, signal);
  }

  /** The plan of a blueprint, with what its sources stand for and, where its name does not tell it, its base. */
  async propose(
    blueprint: WorkspaceBlueprint,
    signal: AbortSignal,
    facts: SourceFacts = {},
    base?: BaseImage,
  ): Promise<ProposedPlan> {
    if (this.#planner === undefined)
      throw new CaissonError('unsupported-os', `nothing is built on ${machineArchitecture()} machines`);
    return this.#planner.propose(blueprint, signal, { ...facts, base: base && baseOf(blueprint, base) });
  }
}

/** A base of this machine, as it was when it was unpacked. */
function baseOf({ target: { os } }: WorkspaceBlueprint, { digest }: BaseImage): ResolvedImagePlan['base'] {
  const reference = os.reference ?? '';
  const kind = reference.startsWith('oci:') ? 'oci-layout' : 'oci-archive';
  return { kind, reference, digest: digest as ImageDigest };
}
