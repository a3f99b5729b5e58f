import { CaissonError, type Owner, type WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Authority } from './authority.ts';
import type { ProjectSecrets } from './project-secrets.ts';
import { bringTrust, secretEnvironment } from './trust.ts';

export interface InsideSecretsOptions {
  readonly projects: ProjectSecrets;
  readonly authority: Pick<Authority, 'certificate'>;
}

/** What a launch has to do for the secrets of one sandbox. */
export interface LaunchSecrets {
  readonly env: Readonly<Record<string, string>>;
  readonly notices: readonly string[];
  settleIn(guest: GuestClient, signal: AbortSignal): Promise<void>;
}

/**
 * What a sandbox has inside for the secrets that its rules name: placeholders, and trust in the authority. One whose
 * rules name none has nothing of it.
 */
export class InsideSecrets {
  readonly #options: InsideSecretsOptions;

  constructor(options: InsideSecretsOptions) {
    this.#options = options;
  }

  /** Refuses names that the project has no secret for, each with its place in the blueprint, and one that does not open. */
  async require(owner: Owner, blueprint: WorkspaceBlueprint): Promise<void> {
    const names = secretsIn(blueprint);
    if (names.length === 0) return;
    const { byName, unreadable } = await this.#options.projects.of(owner);
    const locked = names.find((name) => unreadable.has(name));
    if (locked !== undefined) throw new CaissonError('secret_unreadable', `the secret ${locked} cannot be read`);
    const problems = names.flatMap((name, index) => {
      if (byName.has(name)) return [];
      const path = `runtime.network.secrets[${index}]`;
      const hint = 'Store it with `caisson secret set`, or correct its name.';
      return [{ path, code: 'not_found', message: `There is no secret \`${name}\` in this project.`, hint }];
    });
    const [first] = problems;
    if (!first) return;
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    throw new CaissonError('spec_invalid', `${first.path}: ${first.message}${more}`, { problems });
  }

  /** `names` are those that the sandbox's rules name at present. */
  async atLaunch(owner: Owner, names: readonly string[]): Promise<LaunchSecrets | undefined> {
    if (names.length === 0) return undefined;
    const { byName } = await this.#options.projects.of(owner);
    const found = names.flatMap((name) => byName.get(name) ?? []);
    const missing = names.filter((name) => !byName.has(name));
    const notices = missing.map(
      (name) => `The secret ${name} is not there or cannot be read: requests go out without it.`,
    );
    const authority = await this.#options.authority.certificate();
    return {
      env: secretEnvironment(found),
      notices,
      settleIn: (guest, signal) => bringTrust(guest, authority, signal),
    };
  }
}

/** The secrets that a blueprint names. */
export function secretsIn(blueprint: WorkspaceBlueprint): readonly string[] {
  return blueprint.runtime.network.secrets ?? [];
}
