import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import type { ImageBounds } from '../bounds.ts';
import { digestOf, readBounded } from '../digest.ts';
import { checkLayerCount, type ImageContent } from '../oci/content.ts';
import { check, parseJson, readConfig } from '../oci/documents.ts';
import { checkPlatform } from '../oci/platform.ts';
import type { FileTree } from './file-tree.ts';

const listSchema = z
  .array(
    z.object({
      Config: z.string().max(1000),
      RepoTags: z.array(z.string().max(512)).nullish(),
      Layers: z.array(z.string().max(1000)),
    }),
  )
  .max(1000);

/**
 * An image as `docker save` writes it: `manifest.json` names a config and plain layers. It has no manifest with a digest;
 * the config's names the image, as Docker itself does it, and the diff ids in it vouch for the layers.
 */
export async function readDockerArchive(
  tree: FileTree,
  tag: string | undefined,
  bounds: ImageBounds,
  what: string,
): Promise<ImageContent> {
  if (!(await tree.has('manifest.json')))
    throw new CaissonError('image_not_found', `${what} is no archive of \`docker save\`: it has no manifest.json`);
  const text = await readBounded(tree.read('manifest.json'), bounds.documentBytes, 'manifest.json');
  const list = check(listSchema, parseJson(text, 'manifest.json'), 'manifest.json');
  const tagged = list.filter(({ RepoTags }) => RepoTags?.some((name) => name === tag || name.endsWith(`:${tag}`)));
  const found = tag === undefined ? list : tagged;
  const entry = found[0];
  if (found.length !== 1 || entry === undefined)
    throw new CaissonError('image_not_found', `${what} has ${found.length} images of this name; name one of them`, {
      hint: `It has ${
        list
          .flatMap(({ RepoTags }) => RepoTags ?? [])
          .slice(0, 20)
          .join(', ') || 'no tags'
      }.`,
    });
  checkLayerCount(entry.Layers.length, what, bounds);
  const bytes = await readBounded(tree.read(entry.Config), bounds.configBytes, `the config of ${what}`);
  const config = readConfig(bytes, `the config of ${what}`);
  checkPlatform(config, what);
  const diffIds = config.rootfs.diff_ids ?? [];
  if (diffIds.length !== entry.Layers.length)
    throw new CaissonError(
      'image_invalid',
      `${what} has ${entry.Layers.length} layers; its config names ${diffIds.length}`,
    );
  const digest = digestOf(bytes);
  const layers = entry.Layers.map((name, n) => ({ diffId: diffIds[n] ?? '', open: () => tree.read(name) }));
  return { digest, rootDigest: digest, config, layers, annotations: {} };
}
