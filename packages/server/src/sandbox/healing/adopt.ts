import { CaissonError, localOwner, type Sandbox } from '@caisson/contract';
import type { Driver, ListedInstance } from '../../drivers/driver.ts';
import { sizeOf, termsOf } from '../size.ts';
import type { WorkContext } from '../work-context.ts';
import type { SandboxPapers } from './papers.ts';

/** One whose lease may have been extended since it was launched: enough to look at it and to extend it again. */
const leastLeftMs = 10 * 60_000;

const notice =
  'Its record was lost and was made again from what it was launched with. What was changed later is gone: network rules, ' +
  'labels, an extended lease, open ports, snapshots.';

export type Adoption = { readonly adopted: Sandbox } | { readonly why: string };

/**
 * Makes the record of an instance that has none again, from its papers. Nobody calls it for one whose record is there,
 * whatever that says: what was destroyed stays destroyed. The caller holds the sandbox.
 */
export async function adopt(work: WorkContext, driver: Driver, instance: ListedInstance): Promise<Adoption> {
  const { key, owner, labels, paused = false } = instance;
  const papers = work.papers?.read(labels, { key, owner, driver: driver.name });
  if (!papers) return { why: 'it has no papers that this installation has sealed for it' };
  if (owner.tenant !== localOwner.tenant && !(await work.store.tenants.get(owner.tenant)))
    return { why: `there is no tenant ${owner.tenant}` };
  try {
    return { adopted: (await work.store.adoptions.adopt(foundOf(work, papers, paused))).sandbox };
  } catch (error) {
    // Its name is taken, its quota is used up, its credits are: whoever changes that has the grace time for it.
    if (error instanceof CaissonError && error.code !== 'database_unavailable') return { why: error.message };
    throw error;
  }
}

function foundOf(work: WorkContext, papers: SandboxPapers, paused: boolean) {
  const { sandbox: id, attempt, driver, host, notices, expiresAt, ...rest } = papers;
  const size = sizeOf(attempt.blueprint);
  return {
    ...rest,
    id,
    driver,
    host,
    attempt,
    notices: [...new Set([...notices, notice])],
    blueprintDigest: attempt.blueprintDigest,
    state: paused ? ('paused' as const) : ('ready' as const),
    expiresAt: expiresAt === null ? null : Math.max(expiresAt, Date.now() + leastLeftMs),
    size,
    terms: termsOf(work, { driver, host }, size),
  };
}
