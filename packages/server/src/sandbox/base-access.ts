import {
  CaissonError,
  localOwner,
  type ResolvedProfile,
  type Sandbox,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import { isLocalReference } from '../images/reference.ts';

type Os = WorkspaceBlueprint['target']['os'];

/**
 * A path is one of the server's machine: what lies there is the operator's to give. They name it themselves, or in a
 * profile, for everybody who uses that. An input cannot smuggle one in: it is not what the profile says.
 */
export function requireBase(os: Os, profile: ResolvedProfile | undefined, isOperators: boolean): void {
  const { family, reference = '' } = os;
  if (family !== 'image' || !isLocalReference(reference) || isOperators) return;
  if (JSON.stringify(profile?.spec ?? null).includes(JSON.stringify(reference))) return;
  throw new CaissonError('operator_needed', 'an image by a path of the machine is for the operator to name', {
    hint: 'Use an image of a registry, or ask the operator for a profile with this one.',
  });
}

/** The same for a record, whoever wrote it: an archive that somebody brought, say. */
export function requireRecordedBase(
  { owner }: Pick<Sandbox, 'owner'>,
  { target }: WorkspaceBlueprint,
  profile: ResolvedProfile | undefined,
): void {
  requireBase(target.os, profile, owner.tenant === localOwner.tenant);
}
