import { CaissonError, isId } from '@caisson/contract';
import type { Caisson, SandboxHandle } from '@caisson/sdk';

/**
 * The sandbox that was meant: by its id, or by its name. Names are unique within an owner, and a project has several;
 * one of the caller's own goes before those of the others. With `orGone`, where none is there: the latest that was.
 */
export async function findSandbox(
  caisson: Caisson,
  ref: string,
  { orGone = false }: { readonly orGone?: boolean } = {},
): Promise<SandboxHandle> {
  if (isId('sandbox', ref)) return caisson.sandboxes.get(ref);
  const missing = new CaissonError('sandbox_not_found', `there is no sandbox ${ref}`);
  const isName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(ref);
  if (!isName) throw missing;
  const { items } = await caisson.sandboxes.page({ name: ref });
  const [first] = items;
  if (first === undefined) {
    const gone = orGone ? await caisson.sandboxes.page({ name: ref, all: true }) : undefined;
    if (gone?.items[0]) return gone.items[0];
    throw missing;
  }
  if (items.length === 1) return first;
  const { owner } = await caisson.whoami();
  const own = items.filter(({ record }) => record.owner.principal === owner.principal);
  if (own.length === 1 && own[0]) return own[0];
  throw new CaissonError('request_invalid', `there are ${items.length} sandboxes called ${ref}`, {
    hint: 'Use the id of the one you mean.',
    context: { ids: items.map(({ id }) => id) },
  });
}
