import type { Sandbox, SandboxState } from '@caisson/contract';
import type { Store } from '../store/store.ts';

/** Small enough that a page never holds up a request, large enough that ten thousand take a few dozen of them. */
export const pageSize = 500;

/** Every sandbox that is in a state, read page by page. */
export async function* eachInState(store: Store, state: SandboxState, signal?: AbortSignal): AsyncGenerator<Sandbox> {
  for (let after = ''; signal?.aborted !== true; ) {
    const page = await store.sandboxes.inState(state, after, pageSize);
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    after = last.id;
  }
}
