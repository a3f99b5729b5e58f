export interface Page<T> {
  readonly items: T[];
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null;
}

/** Every item of every page; a page is asked for when the one before has been used up. */
export async function* eachItem<T>(
  page: (after: string | undefined) => Promise<Page<T>>,
  after?: string,
): AsyncGenerator<T, void, undefined> {
  let cursor = after;
  for (;;) {
    const { items, next } = await page(cursor);
    yield* items;
    if (next === null) return;
    cursor = next;
  }
}
