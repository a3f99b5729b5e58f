import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CaissonError,
  type Profile,
  parseOrThrow,
  parseProfileRef,
  profileRef,
  profileSchema,
  type ResolvedProfile,
  resolveProfile,
} from '@caisson/contract';
import { readDocument } from '../documents/read-document.ts';

/** What a create without a spec and without a profile means. */
export const blankProfile: Profile = {
  name: 'blank',
  version: 1,
  description: 'An empty workspace: nothing is cloned and nothing is installed.',
  sourceRequired: false,
};

/** The profiles of this installation: those that ship, and those in the data folder. */
export class ProfileCatalog {
  readonly #profiles = new Map<string, Profile[]>();

  constructor(profiles: readonly Profile[]) {
    for (const profile of profiles) this.#add(profile);
  }

  /** The newest version of each, by name. */
  list(): Profile[] {
    return [...this.#profiles.values()]
      .flatMap((versions) => versions.at(-1) ?? [])
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(ref: string): ResolvedProfile {
    const { name, version } = parseProfileRef(ref);
    const found = this.#lookup(name, version);
    if (!found) {
      const known =
        version === undefined ? this.list().map(profileRef) : (this.#profiles.get(name) ?? []).map(profileRef);
      throw new CaissonError('profile_not_found', `there is no profile ${ref}`, { context: { known } });
    }
    return resolveProfile(found, (wanted, at) => this.#lookup(wanted, at));
  }

  /** The same without an error: a sandbox may be older than the profiles of its server. */
  find(name: string, version: number): ResolvedProfile | undefined {
    const found = this.#lookup(name, version);
    return found && resolveProfile(found, (wanted, at) => this.#lookup(wanted, at));
  }

  #lookup(name: string, version?: number): Profile | undefined {
    const versions = this.#profiles.get(name) ?? [];
    return version === undefined ? versions.at(-1) : versions.find((profile) => profile.version === version);
  }

  #add(profile: Profile): void {
    const versions = this.#profiles.get(profile.name) ?? [];
    if (versions.some((other) => other.version === profile.version)) {
      throw new CaissonError(
        'profile_invalid',
        `there are two profiles ${profileRef(profile)}; a version never changes, raise it`,
      );
    }
    versions.push(profile);
    this.#profiles.set(
      profile.name,
      versions.sort((a, b) => a.version - b.version),
    );
  }
}

/** Reads every profile of a folder. One that is not valid stops the start: a recipe half-read is worse than none. */
export function loadProfiles(folder: string): ProfileCatalog {
  const files = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => /\.(ya?ml|json)$/.test(name))
        .sort()
    : [];
  const own = files.map((name) => {
    const value = readDocument(readFileSync(join(folder, name), 'utf8'), 'profile_invalid', name);
    return parseOrThrow(profileSchema, value, 'profile_invalid', `profile ${name}`);
  });
  const catalog = new ProfileCatalog([blankProfile, ...own]);
  for (const profile of catalog.list()) catalog.get(profile.name);
  return catalog;
}
