import type { Image } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration } from '../input/duration.ts';
import { collectKeyValue, parseCount } from '../input/key-value.ts';
import { bytesText } from '../output/bytes.ts';
import { imageTable, imageText } from '../output/image-text.ts';
import { withProgress } from '../output/progress.ts';

interface WithSecret extends ServerChoice {
  readonly secret?: string;
}

interface PublishOptions extends WithSecret {
  readonly compression?: 'gzip' | 'none';
  readonly label?: Record<string, string>;
}

interface TagOptions extends WithSecret {
  readonly limit?: number;
  readonly after?: string;
}

const whichImage = 'its digest, the beginning of it, or its name';

export function addImage(parent: Command, context: CommandContext): void {
  const image = parent.command('image').description('images: what is kept here, and what is in registries');
  addKept(image, context);
  addTravelling(image, context);
  addRegistry(image, context);
}

function addKept(image: Command, { connect, screen }: CommandContext): void {
  withServer(image.command('list').description('the images of your sandboxes and snapshots'))
    .option('--all', 'every image that the server keeps; for its operator')
    .action(async (options: ServerChoice & { all?: boolean }) => {
      const items = await (await connect(options)).images.list({ all: options.all === true });
      screen.result({ items }, () => (items.length === 0 ? 'no images' : imageTable(items)));
    });

  withServer(image.command('get').description('one image'))
    .argument('<image>', whichImage)
    .action(async (ref: string, options: ServerChoice) => {
      const { findImage } = await import('../find-image.ts');
      const found = await findImage(await connect(options), ref);
      screen.result(found, () => imageText(found));
    });

  withServer(image.command('delete').description('delete an image that nothing uses'))
    .argument('<image>', whichImage)
    .action(async (ref: string, options: ServerChoice) => {
      const { findImage } = await import('../find-image.ts');
      const caisson = await connect(options);
      const deleted: Image = await caisson.images.delete((await findImage(caisson, ref)).digest);
      if (!screen.wantsJson) screen.note('its layers go with the next `caisson image gc`, or within a few hours');
      screen.result(deleted, () => deleted.digest);
    });

  withServer(image.command('gc').description('remove images and layers that nothing refers to'))
    .option('--unused <time>', 'how long an image stays that nothing uses: 0, 12h, 7d; a week otherwise', parseDuration)
    .action(async (options: ServerChoice & { unused?: number }) => {
      const caisson = await connect(options);
      const { unused } = options;
      const request = unused === undefined ? {} : { unusedSeconds: Math.round(unused) };
      const found = await withProgress(screen, 'collecting images', (say) =>
        caisson.images.gc({ ...request, onProgress: say }),
      );
      screen.result(found, () => {
        const { images, layers, blobs, backendImages, freedBytes } = found;
        const counts = `${images.length} images, ${layers} layers, ${blobs} packed layers, ${backendImages} in engines`;
        return `removed ${counts}: ${bytesText(freedBytes)}`;
      });
    });
}

function addTravelling(image: Command, { connect, screen }: CommandContext): void {
  withSecret(image.command('pull').description('fetch an image of a registry; it stays until it is deleted'))
    .argument('<reference>', 'host/name:tag or host/name@sha256:…')
    .action(async (reference: string, options: WithSecret) => {
      const caisson = await connect(options);
      const pulled = await withProgress(screen, `pulling ${reference}`, (say) =>
        caisson.images.pull(reference, { secret: options.secret, onProgress: say }),
      );
      screen.result(pulled, () => pulled.digest);
    });

  withSecret(image.command('publish').description('bring an image to a registry; prints where it is, by its digest'))
    .argument('<image>', whichImage)
    .argument('<reference>', 'where to: host/name:tag')
    .addOption(new Option('--compression <form>', 'how its layers travel; gzip otherwise').choices(['gzip', 'none']))
    .option('-l, --label <key=value>', 'a label that it gets there; may be repeated', collectKeyValue)
    .action(async (ref: string, to: string, options: PublishOptions) => {
      const { findImage } = await import('../find-image.ts');
      const caisson = await connect(options);
      const { digest } = await findImage(caisson, ref);
      const { secret, compression, label: labels } = options;
      const published = await withProgress(screen, `publishing ${to}`, (say) =>
        caisson.images.publish(digest, to, { secret, compression, labels, onProgress: say }),
      );
      const { there, mounted, sent } = published.layers;
      if (!screen.wantsJson)
        screen.note(`layers: ${sent} sent (${bytesText(published.sentBytes)}), ${mounted} taken over, ${there} there`);
      screen.result(published, () => `${published.reference}@${published.digest}`);
    });
}

function addRegistry(image: Command, { connect, screen }: CommandContext): void {
  withSecret(image.command('tags').description('the tags of a repository of a registry'))
    .argument('<repository>', 'host/name')
    .option('--limit <count>', 'how many at most', parseCount)
    .option('--after <tag>', 'only those after this one')
    .action(async (repository: string, options: TagOptions) => {
      const { secret, limit, after } = options;
      const query = { ...(limit === undefined ? {} : { limit }), ...(after === undefined ? {} : { after }) };
      const page = await (await connect(options)).images.tags(repository, { secret, ...query });
      if (!screen.wantsJson && page.next !== null) screen.note(`there are more: --after ${page.next}`);
      screen.result(page, () => (page.items.length === 0 ? 'no tags' : page.items.join('\n')));
    });

  withSecret(image.command('manifest').description('a manifest of a registry, as it is'))
    .argument('<reference>', 'host/name:tag or host/name@sha256:…')
    .option('--head', 'only its digest, kind and size')
    .action(async (reference: string, options: WithSecret & { head?: boolean }) => {
      const { secret, head = false } = options;
      const found = await (await connect(options)).images.manifest(reference, { secret, head });
      screen.result(found, () =>
        head
          ? [found.digest ?? 'no digest told', found.mediaType, `${found.sizeBytes ?? '?'} bytes`].join('\n')
          : JSON.stringify(found.manifest, null, 2),
      );
    });

  withSecret(image.command('unpublish').description('delete an image from a registry, with all of its tags'))
    .argument('<reference>', 'host/name:tag or host/name@sha256:…')
    .action(async (reference: string, options: WithSecret) => {
      const deleted = await (await connect(options)).images.unpublish(reference, { secret: options.secret });
      screen.result(deleted, () => deleted.digest ?? reference);
    });

  withSecret(image.command('extensions').description('what a registry can do beyond the standard'))
    .argument('<repository>', 'host/name')
    .action(async (repository: string, options: WithSecret) => {
      const items = await (await connect(options)).images.extensions(repository, { secret: options.secret });
      screen.result({ items }, () =>
        items.length === 0 ? 'none that it tells of' : items.map(({ name }) => name).join('\n'),
      );
    });
}

function withSecret(command: Command): Command {
  return withServer(command).option('--secret <name>', 'a secret of your project with the credentials of the registry');
}
