import type { Sandbox, SandboxState } from '@caisson/contract';
import type { Store } from '../store/store.ts';

/** Small enough that a page never holds up a request, large enough that ten thousand take a few dozen of them. */
export const pageSize = 250;

/** Every sandbox that is in a state, read page by page. */
export function eachInState(store: Store, state: SandboxState, signal?: AbortSignal): AsyncGenerator<Sandbox> {
  return eachOf((after) => store.sandboxes.inState(state, after, pageSize), signal);
}

/** Every sandbox that is ready and has an idle time. */
export function eachThatIdles(store: Store): AsyncGenerator<Sandbox> {
  return eachOf((after) => store.sandboxes.thatIdle(after, pageSize));
}

async function* eachOf(read: (after: string) => Promise<Sandbox[]>, signal?: AbortSignal): AsyncGenerator<Sandbox> {
  for (let after = ''; signal?.aborted !== true; ) {
    const page = await read(after);
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    after = last.id;
    // SQLite answers within the call, and so does a backend in memory: without this nobody else would get a turn.
    await new Promise(setImmediate);
  }
}
