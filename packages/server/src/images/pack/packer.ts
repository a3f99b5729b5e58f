import { createHash } from 'node:crypto';
import type { ImageBounds } from '../bounds.ts';
import { digestEnd } from '../digest.ts';
import { sourceDateEpoch } from '../plan/build-spec.ts';
import { sandboxUser } from '../plan/sandbox-user.ts';
import { readTree } from './native-tree.ts';

/** A tree as the tar of a layer: its name, and how long it is. */
export interface Packed {
  readonly digest: string;
  readonly size: number;
}

/** Beyond so many layers the oldest are packed again when they are asked for. */
const maxKnown = 1_000;

/**
 * Trees as tars of layers. The same tree gives the same bytes, so a tar is never kept: it is read once for its digest and
 * once more for its content. That costs the time of reading twice, mostly from memory, and no space; what is cut short
 * leaves nothing behind.
 */
export class Packer {
  readonly #program: string;
  readonly #bounds: ImageBounds;
  /** Of unpacked layers, which never change. */
  readonly #known = new Map<string, Packed>();

  constructor(program: string, bounds: ImageBounds) {
    this.#program = program;
    this.#bounds = bounds;
  }

  open(folder: string, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    return this.#read(folder, [], signal);
  }

  /**
   * A tree that somebody fetched: names, modes and content alone, so that who fetched it and when is not in the bytes. All
   * of it is the sandbox's user's.
   */
  openContent(folder: string, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const { uid } = sandboxUser;
    return this.#read(folder, ['--impersonal', String(sourceDateEpoch), '--owner', String(uid)], signal);
  }

  measure(folder: string, signal: AbortSignal): Promise<Packed> {
    return measured(this.open(folder, signal));
  }

  /** The same of a layer, once. */
  async measureLayer(folder: string, signal: AbortSignal): Promise<Packed> {
    const known = this.#known.get(folder) ?? (await this.measure(folder, signal));
    this.#known.delete(folder);
    this.#known.set(folder, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  #read(folder: string, more: readonly string[], signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const { layerBytes, layerEntries } = this.#bounds;
    const limits = ['--max-bytes', String(layerBytes), '--max-entries', String(layerEntries)];
    return readTree(this.#program, ['pack', folder, ...limits, ...more], signal);
  }
}

async function measured(archive: AsyncIterable<Uint8Array>): Promise<Packed> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of archive) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { digest: digestEnd(hash), size };
}
