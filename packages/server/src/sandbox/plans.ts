import { CaissonError, type InputValues } from '@caisson/contract';
import { platformSchema } from '@caisson/workspace-composition';
import { machineArchitecture } from '../images/oci/platform.ts';
import { DebianIndexes } from '../images/packages/debian-index/debian-indexes.ts';
import { machineSuites } from '../images/packages/debian-index/machine-suites.ts';
import { pinBase } from '../images/plan/pin-base.ts';
import { Planner, type ProposedPlan } from '../images/plan/planner.ts';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import { canaryProfile } from '../profiles/shipped.ts';
import { compose } from './compose.ts';
import type { Filesystems } from './filesystems.ts';

export interface PlansOptions {
  readonly profiles: ProfileCatalog;
  readonly filesystems: Filesystems | undefined;
  /** `<data>/package-index`. */
  readonly indexFolder: string;
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

  constructor({ profiles, filesystems, indexFolder }: PlansOptions) {
    this.#profiles = profiles;
    const platform = platformSchema.safeParse({ os: 'linux', architecture: machineArchitecture() }).data;
    this.#planner =
      platform &&
      new Planner({
        platform,
        indexes: new DebianIndexes({ folder: indexFolder, suitesOf: machineSuites }),
        pinBase: async (blueprint, place, signal) =>
          filesystems === undefined
            ? 'this server has no images: the base is not known'
            : pinBase(filesystems.images, blueprint, place, signal),
      });
  }

  async make({ spec, profile, inputs = {} }: PlanRequest, signal: AbortSignal): Promise<ProposedPlan> {
    if (this.#planner === undefined)
      throw new CaissonError('unsupported-os', `nothing is built on ${machineArchitecture()} machines`);
    // As create has it: without a spec it is the canary.
    const given = profile ?? (spec === undefined ? canaryProfile.name : undefined);
    const found = given === undefined ? undefined : this.#profiles.get(given);
    return this.#planner.propose(compose(found, inputs, spec ?? {}).blueprint, signal);
  }
}
