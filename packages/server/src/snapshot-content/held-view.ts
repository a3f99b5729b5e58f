import type { Id } from '@caisson/contract';
import type { Storage, TreeView } from '../storage/storage.ts';

/** A view of a snapshot that stays until it is let go, for an answer that is sent after it has begun. */
export interface HeldView {
  readonly view: TreeView;
  /** Resolves when the tree is not shown any more. */
  letGo(): Promise<void>;
}

export async function holdView(storage: Storage, id: Id<'snapshot'>, signal: AbortSignal): Promise<HeldView> {
  let letGo = () => {};
  const wanted = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return new Promise<HeldView>((resolve, reject) => {
    const ended = storage.view(
      id,
      async (view) => {
        const done = () => ended.catch(() => {});
        resolve({
          view,
          letGo: async () => {
            letGo();
            await done();
          },
        });
        await wanted;
      },
      signal,
    );
    ended.catch(reject);
  });
}
