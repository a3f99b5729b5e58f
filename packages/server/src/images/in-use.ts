/**
 * Who is at work with which images and layers, by digest. The server is alone on its folder, so this is all there is to
 * know: what is held or was just asked for is not taken away, whatever the records say.
 */
export class InUse {
  readonly #held = new Map<string, number>();
  readonly #touched = new Map<string, number>();

  /** Somebody asked for it, and may be about to use it. */
  touch(...digests: readonly string[]): void {
    const now = Date.now();
    for (const digest of digests) this.#touched.set(digest, now);
  }

  /** Keeps them until the answer is called. */
  hold(digests: Iterable<string>): () => void {
    const all = [...new Set(digests)];
    for (const digest of all) this.#held.set(digest, (this.#held.get(digest) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      for (const digest of all) {
        const left = (this.#held.get(digest) ?? 1) - 1;
        if (left === 0) this.#held.delete(digest);
        else this.#held.set(digest, left);
      }
      // Whoever looked at the records before they named it must still find that it is in use.
      this.touch(...all);
    };
  }

  /** Whether nobody holds it, and nobody has asked for it since. */
  isFree(digest: string, sinceMs: number): boolean {
    return !this.#held.has(digest) && (this.#touched.get(digest) ?? 0) < sinceMs;
  }

  lastTouched(digest: string): number {
    return this.#touched.get(digest) ?? 0;
  }

  /** What was asked for longer ago says nothing any more. */
  forgetBefore(sinceMs: number): void {
    for (const [digest, at] of this.#touched) if (at < sinceMs) this.#touched.delete(digest);
  }
}
