import {
  CaissonError,
  type Profile,
  parseProfileRef,
  profileRef,
  type ResolvedProfile,
  resolveProfile,
} from '@caisson/contract';
import { canonicalJson } from '@caisson/workspace-composition';
import { ProfileFolder } from './profile-folder.ts';
import { readProfile } from './read-profile.ts';
import { shippedProfiles } from './shipped.ts';

/** Every one is kept in memory, and none is ever removed. */
const maxProfiles = 2_000;

/**
 * The profiles of this installation: those that ship, and those in the data folder.
 *
 * Laws
 * - A version never changes. Adding the same content again does nothing; other content is refused.
 * - What a version means does not change either: its parent is the version that was the newest when it came.
 */
export class ProfileCatalog {
  readonly #profiles = new Map<string, Profile[]>();
  readonly #resolved = new Map<string, ResolvedProfile>();
  readonly #folder: ProfileFolder | undefined;
  #count = 0;

  constructor(profiles: readonly Profile[], folder?: ProfileFolder) {
    this.#folder = folder;
    for (const profile of profiles) this.#keep(profile);
    // A child may come before its parent in the folder.
    for (const versions of this.#profiles.values()) for (const profile of versions) this.#resolve(profile);
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
    return this.#resolve(found);
  }

  /** The same without an error: a sandbox may be older than the profiles of its server. */
  find(name: string, version: number): ResolvedProfile | undefined {
    const found = this.#lookup(name, version);
    return found && this.#resolve(found);
  }

  /** Whether it could be added: throws what is wrong with it. */
  check(value: unknown): { readonly resolved: ResolvedProfile; readonly isNew: boolean } {
    const profile = readProfile(value);
    const present = this.#lookup(profile.name, profile.version);
    if (present) {
      if (!isSame(profile, present)) throw changed(profile);
      return { resolved: this.#resolve(present), isNew: false };
    }
    if (this.#count >= maxProfiles)
      throw new CaissonError('profile_invalid', `there are ${maxProfiles} profiles, and there may be no more`);
    // It counts as there: one that extends itself is told so.
    const isItself = (name: string, version: number) => name === profile.name && version === profile.version;
    const lookup = (name: string, version?: number) =>
      this.#lookup(name, version) ?? (isItself(name, version ?? profile.version) ? profile : undefined);
    return { resolved: resolveProfile(profile, lookup), isNew: true };
  }

  /** Adds it for good: it is on the disk first. */
  add(value: unknown): ResolvedProfile {
    const { resolved, isNew } = this.check(value);
    if (!isNew) return resolved;
    const profile = this.#pinned(readProfile(value));
    this.#folder?.write(profile);
    this.#keep(profile);
    return this.#resolve(profile);
  }

  /** With the version of its parent, which may have a newer one tomorrow. */
  #pinned(profile: Profile): Profile {
    if (profile.extends === undefined || profile.extends.version !== undefined) return profile;
    const parent = this.#lookup(profile.extends.name);
    return parent ? { ...profile, extends: { name: parent.name, version: parent.version } } : profile;
  }

  #resolve(profile: Profile): ResolvedProfile {
    const ref = profileRef(profile);
    const known = this.#resolved.get(ref) ?? resolveProfile(profile, (name, version) => this.#lookup(name, version));
    this.#resolved.set(ref, known);
    return known;
  }

  #lookup(name: string, version?: number): Profile | undefined {
    const versions = this.#profiles.get(name) ?? [];
    return version === undefined ? versions.at(-1) : versions.find((profile) => profile.version === version);
  }

  #keep(profile: Profile): void {
    const present = this.#lookup(profile.name, profile.version);
    if (present && !isSame(profile, present)) throw changed(profile);
    if (present) return;
    this.#count += 1;
    const versions = [...(this.#profiles.get(profile.name) ?? []), profile];
    this.#profiles.set(
      profile.name,
      versions.sort((a, b) => a.version - b.version),
    );
  }
}

/** Whoever adds one again need not know which version of its parent was meant. */
function isSame(given: Profile, present: Profile): boolean {
  const meant =
    given.extends && given.extends.version === undefined && given.extends.name === present.extends?.name
      ? { ...given, extends: present.extends }
      : given;
  return canonicalJson(meant) === canonicalJson(present);
}

function changed(profile: Profile): CaissonError {
  const ref = profileRef(profile);
  return new CaissonError('profile_exists', `${ref} is there with other content; a version never changes, raise it`);
}

/** What ships, and what is in the folder; what is added is kept there. */
export function loadProfiles(path: string): ProfileCatalog {
  const folder = new ProfileFolder(path);
  return new ProfileCatalog([...shippedProfiles, ...folder.read()], folder);
}
