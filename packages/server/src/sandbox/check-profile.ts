import { type CheckedProfile, hasCode, type ResolvedProfile } from '@caisson/contract';
import type { ProfileCatalog } from '../profiles/catalog.ts';
import { compose } from './compose.ts';

/** What is wrong with a profile is thrown. Its spec is judged too, where it is whole without inputs. */
export function checkProfile(profiles: ProfileCatalog, value: unknown): CheckedProfile {
  const { resolved, isNew } = profiles.check(value);
  return { isNew, profile: { ...resolved, lineage: [...resolved.lineage] }, blueprintDigest: digestOf(resolved) };
}

function digestOf(profile: ResolvedProfile): string | null {
  try {
    // Whether it has a source is for whoever creates to see to.
    return compose({ ...profile, sourceRequired: false }, {}, {}).digest;
  } catch (error) {
    if (hasCode(error, 'input_missing')) return null;
    throw error;
  }
}
