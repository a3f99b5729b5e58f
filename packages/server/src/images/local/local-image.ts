import { realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { ImageBounds } from '../bounds.ts';
import { type ImageContent, readImage } from '../oci/content.ts';
import type { LocalReference } from '../reference.ts';
import { readDockerArchive } from './docker-archive.ts';
import { FolderTree } from './file-tree.ts';
import { LayoutSource } from './layout-source.ts';
import { openArchive } from './open-archive.ts';

export interface LocalOptions {
  /** Where images may lie; undefined: anywhere that the server can read. */
  readonly folders: readonly string[] | undefined;
  readonly bounds: ImageBounds;
  readonly draft: string;
  readonly signal: AbortSignal;
}

/** An image in a folder or an archive on the machine of the server. */
export async function readLocalImage(reference: LocalReference, options: LocalOptions): Promise<ImageContent> {
  const { kind, tag } = reference;
  const { bounds, draft, signal } = options;
  const what = `${kind}:${reference.path}`;
  const path = await allowedPath(reference, options.folders);
  if (kind === 'oci') {
    if (!(await stat(path)).isDirectory())
      throw new CaissonError('image_not_found', `${reference.path} is not a folder`);
    return readImage(new LayoutSource(new FolderTree(path), tag, bounds), what, bounds, signal);
  }
  const tree = await openArchive(path, draft, bounds.layerBytes, signal);
  if (kind === 'docker-archive') return readDockerArchive(tree, tag, bounds, what);
  return readImage(new LayoutSource(tree, tag, bounds), what, bounds, signal);
}

/** After all links: a link within an allowed folder leads to its target, which must be allowed itself. */
async function allowedPath({ path }: LocalReference, folders: readonly string[] | undefined): Promise<string> {
  const refuse = (cause?: unknown) =>
    new CaissonError('image_not_found', `there is no image at ${path} that the server may use`, {
      hint: 'The path is one of the machine of the server.',
      cause,
    });
  const real = await realpath(path).catch((cause: unknown) => Promise.reject(refuse(cause)));
  if (folders === undefined) return real;
  const allowed = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  const inside = allowed.some((folder) => folder !== undefined && (real === folder || real.startsWith(folder + sep)));
  if (!inside) throw refuse();
  return real;
}
