import type { Sandbox, SandboxState } from '@caisson/contract';
import type { SandboxKey } from '../store/sandboxes.ts';
import type { Store } from '../store/store.ts';

/** Small enough that a page never holds up a request, large enough that ten thousand take a few dozen of them. */
export const pageSize = 500;
/** Of those that are read with little more than their id. */
const keyPageSize = 2_000;

/** Every sandbox that is in a state, read page by page. */
export function eachInState(store: Store, state: SandboxState, signal?: AbortSignal): AsyncGenerator<Sandbox> {
  return eachOf(pageSize, (after) => store.sandboxes.inState(state, after, pageSize), signal);
}

/** The same with what tells its instance, and nothing else. */
export function eachKeyInState(store: Store, state: SandboxState, signal?: AbortSignal): AsyncGenerator<SandboxKey> {
  return eachOf(keyPageSize, (after) => store.sandboxes.keysInState(state, after, keyPageSize), signal);
}

/** Every sandbox that is ready and has an idle time. */
export function eachThatIdles(store: Store): AsyncGenerator<Sandbox> {
  return eachOf(pageSize, (after) => store.sandboxes.thatIdle(after, pageSize));
}

async function* eachOf<T extends { readonly id: string }>(
  size: number,
  read: (after: string) => Promise<T[]>,
  signal?: AbortSignal,
): AsyncGenerator<T> {
  for (let after = ''; signal?.aborted !== true; ) {
    const page = await read(after);
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < size) return;
    after = last.id;
    // SQLite answers within the call, and so does a backend in memory: without this nobody else would get a turn.
    await new Promise(setImmediate);
  }
}
