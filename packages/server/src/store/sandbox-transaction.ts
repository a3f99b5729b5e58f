import { CaissonError } from '@caisson/contract';
import type { Database, Queries } from './database.ts';
import { retryDeadlocks, violatedUnique } from './database-errors.ts';

/** One transaction about a sandbox; a name or slot that is taken is told as such. */
export async function sandboxTransaction<T>(database: Database, work: (tx: Queries) => Promise<T>): Promise<T> {
  try {
    return await retryDeadlocks(() => database.db.transaction().execute(work));
  } catch (error) {
    const taken = violatedUnique(error);
    if (taken === 'slot')
      throw new CaissonError('sandbox_exists', 'the owner already has a sandbox of this profile and name');
    if (taken === 'name') throw new CaissonError('sandbox_exists', 'the owner already has a sandbox of this name');
    throw error;
  }
}
