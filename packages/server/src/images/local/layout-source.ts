import { CaissonError } from '@caisson/contract';
import type { ImageBounds } from '../bounds.ts';
import { readBounded } from '../digest.ts';
import type { ContentSource } from '../oci/content.ts';
import { check, type Descriptor, indexSchema, parseJson } from '../oci/documents.ts';
import type { FileTree } from './file-tree.ts';

const refName = 'org.opencontainers.image.ref.name';

/** The content of an OCI image layout, in a folder or an archive: `index.json` names images, `blobs/` holds all. */
export class LayoutSource implements ContentSource {
  readonly #tree: FileTree;
  readonly #tag: string | undefined;
  readonly #bounds: ImageBounds;

  constructor(tree: FileTree, tag: string | undefined, bounds: ImageBounds) {
    this.#tree = tree;
    this.#tag = tag;
    this.#bounds = bounds;
  }

  async root(signal: AbortSignal): Promise<{ bytes: Buffer; digest?: string }> {
    if (!(await this.#tree.has('index.json')))
      throw new CaissonError('image_not_found', 'there is no OCI layout: it has no index.json');
    const limit = this.#bounds.documentBytes;
    const text = await readBounded(this.#tree.read('index.json'), limit, 'index.json');
    signal.throwIfAborted();
    const chosen = this.#choose(check(indexSchema, parseJson(text, 'index.json'), 'index.json').manifests);
    return { bytes: await readBounded(this.document(chosen), limit, 'the manifest'), digest: chosen.digest };
  }

  document({ digest }: Descriptor): AsyncIterable<Uint8Array> {
    return this.#tree.read(`blobs/${digest.replace(':', '/')}`);
  }

  blob(descriptor: Descriptor): AsyncIterable<Uint8Array> {
    return this.document(descriptor);
  }

  #choose(manifests: readonly Descriptor[]): Descriptor {
    const named = manifests.filter(({ annotations }) => matches(annotations?.[refName], this.#tag));
    const found = this.#tag === undefined ? manifests : named;
    if (found.length === 1 && found[0]) return found[0];
    const tags = manifests.flatMap(({ annotations }) => annotations?.[refName] ?? []).slice(0, 20);
    const what = this.#tag === undefined ? 'several images; name one of them' : `no image \`${this.#tag}\``;
    throw new CaissonError('image_not_found', `the layout has ${manifests.length === 0 ? 'no image' : what}`, {
      hint: tags.length === 0 ? 'None of its images has a tag.' : `It has the tags ${tags.join(', ')}.`,
    });
  }
}

/** Some writers put the whole reference there, others the tag alone. */
function matches(name: string | undefined, tag: string | undefined): boolean {
  return name !== undefined && tag !== undefined && (name === tag || name.endsWith(`:${tag}`));
}
