import { createHash } from 'node:crypto';
import { CaissonError } from '@caisson/contract';
import { canonicalJson } from '@caisson/workspace-composition';

/** Tells whether two requests ask for the same. What the canonical form cannot say is nothing that anybody takes. */
export function requestHash(asked: unknown): string {
  try {
    return createHash('sha256').update(canonicalJson(asked)).digest('hex');
  } catch (error) {
    throw new CaissonError('body_malformed', 'the body is nested too deeply or is not valid Unicode', { cause: error });
  }
}
