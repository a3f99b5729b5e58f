import { CaissonError, type Owner, type WorkspaceBlueprint } from '@caisson/contract';
import type { BackendImage, Driver, Imaging } from '../drivers/driver.ts';
import { GivenImages } from '../images/given-images.ts';
import type { BaseImage, Images } from '../images/images.ts';
import { machineArchitecture } from '../images/oci/platform.ts';
import { engineArchive, engineTag } from '../images/pack/engine-archive.ts';
import { Packer } from '../images/pack/packer.ts';
import { SharedWork } from '../images/shared-work.ts';
import { isOwnName, notYours, requireOwnImage } from './backend-image-names.ts';

type Os = WorkspaceBlueprint['target']['os'];

export interface ResolveOptions {
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** For whom: an image by name, or by an id that the backend knows it by. */
export interface OwnedResolveOptions extends ResolveOptions {
  readonly owner: Pick<Owner, 'tenant' | 'project'>;
}

/** What a backend may be asked for: nothing that it, or a program below it, could take for something else. */
const referenceForm = /^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,511}$/;
/** Images of this server's machine are brought to the backend, and not looked for there. */
const localForm = /^(oci|oci-archive|docker-archive):/;

/**
 * From the `os` of a blueprint to an image that the backend has, for drivers whose filesystem is the backend's. What the
 * backend has under the reference is taken; anything else is found here, as for every driver, and given to it once.
 */
export class BackendImages {
  readonly #images: Images;
  readonly #loading = new SharedWork<BackendImage>();
  #packer: Packer | undefined;

  constructor(images: Images) {
    this.#images = images;
  }

  async resolve(driver: Driver & Imaging, os: Os, options: OwnedResolveOptions): Promise<BackendImage> {
    return (await this.#own(driver, os, options)) ?? (await this.#brought(driver, os, options));
  }

  /** What the backend has itself. */
  async #own(
    driver: Driver & Imaging,
    os: Os,
    { owner, signal }: OwnedResolveOptions,
  ): Promise<BackendImage | undefined> {
    const reference = os.reference ?? '';
    if (os.family !== 'image' || localForm.test(reference)) return undefined;
    if (!referenceForm.test(reference) || reference.includes('..')) throw invalid(reference);
    const image = await driver.findImage(reference, signal);
    if (image) requireOwnImage(image, reference, owner);
    else if (isOwnName(reference)) throw notYours(reference);
    const { architecture } = image ?? {};
    if (architecture !== undefined && architecture !== machineArchitecture()) {
      const message = `the image ${reference} is for ${architecture}, and the backend's machine is ${machineArchitecture()}`;
      throw new CaissonError('image_invalid', message, { hint: 'Use an image for this kind of machine.' });
    }
    return image;
  }

  async #brought(driver: Driver & Imaging, os: Os, options: ResolveOptions): Promise<BackendImage> {
    return this.bring(driver, await this.#images.resolve(os, options), options);
  }

  /** An image of this machine, given to the backend where it has it not. */
  async bring(driver: Driver & Imaging, base: BaseImage, { signal, progress }: ResolveOptions): Promise<BackendImage> {
    if ((base.binds ?? []).length > 0) {
      throw new CaissonError('unsupported-os', `the programs of this machine are not on that of ${driver.name}`, {
        hint: 'Name an image or a distribution: `os: debian`, `{family: image, reference: …}`.',
      });
    }
    const tag = engineTag(base.digest);
    const present = await driver.findImage(tag, signal);
    if (present) return { ...present, notices: [...base.notices, ...present.notices] };
    const loaded = await this.#loading.run(`${driver.name} ${tag}`, { signal, progress }, (shared, tell) =>
      this.#load(driver, base, tag, { signal: shared, progress: tell }),
    );
    return { ...loaded, notices: [...base.notices, ...loaded.notices] };
  }

  async #load(
    driver: Driver & Imaging,
    base: BaseImage,
    tag: string,
    { signal, progress }: ResolveOptions,
  ): Promise<BackendImage> {
    progress(`giving ${base.name} to ${driver.name}`);
    const { guestProgram, bounds, drafts } = await this.#images.workshop();
    this.#packer ??= new Packer(guestProgram, bounds);
    const release = this.#images.hold(base);
    try {
      // Noted before it is there: whatever happens in between, somebody knows that it may be.
      await new GivenImages(drafts).note(driver.name, base.digest);
      await driver.loadImage(engineArchive(base, tag, this.#packer, signal), signal);
    } finally {
      release();
    }
    const found = await driver.findImage(tag, signal);
    if (!found) throw new CaissonError('driver_failed', `${driver.name} took the image ${base.name} and has it not`);
    return found;
  }
}

/** The driver as one that is given images; undefined for one that needs none. */
export function imaging(driver: Driver): (Driver & Imaging) | undefined {
  return driver.findImage && driver.loadImage ? (driver as Driver & Imaging) : undefined;
}

function invalid(reference: string): CaissonError {
  const why = 'it is not the name of an image';
  return new CaissonError('spec_invalid', `the image reference \`${reference.slice(0, 200)}\` is not valid: ${why}`, {
    problems: [{ path: 'target.os.reference', code: 'invalid_value', message: why }],
  });
}
