import { join } from 'node:path';
import * as z from 'zod';
import { digestPattern } from '../digest.ts';
import type { ImageRecord } from '../image-records.ts';
import type { Workshop } from '../ways/workshop.ts';

const stepSchema = z.object({ layer: z.string().regex(digestPattern).nullable() });
const billSchema = z.object({ bill: z.string().nullable() });

/** An image that was built, with the bill of what is in it. */
export interface KeptImage {
  readonly record: ImageRecord;
  readonly bill: string | null;
}

/**
 * What builds leave besides layers and records of images:
 *
 *   steps/<key>.json   which layer a step left; null where it changed nothing
 *   bills/<key>.json   what is in the image of a plan
 *   bases/<key>.json   the image of a plan, as for other bases
 *
 * Each is written when what it names is whole, so a record says the truth or is not there.
 */
export class KeptSteps {
  readonly #workshop: Workshop;

  constructor(workshop: Workshop) {
    this.#workshop = workshop;
  }

  /** Undefined where it is not known or its layer is gone. */
  async layer(key: string): Promise<string | null | undefined> {
    const parsed = stepSchema.safeParse(await this.#workshop.drafts.readJson(this.#file('steps', key)));
    if (!parsed.success) return undefined;
    const { layer } = parsed.data;
    return layer === null || this.#workshop.layers.has(layer) ? layer : undefined;
  }

  async keepLayer(key: string, layer: string | null): Promise<void> {
    await this.#workshop.drafts.writeJson(this.#file('steps', key), { layer });
  }

  async image(key: string): Promise<KeptImage | undefined> {
    const record = await this.#workshop.records.readBase(key);
    if (record === undefined) return undefined;
    const parsed = billSchema.safeParse(await this.#workshop.drafts.readJson(this.#file('bills', key)));
    return parsed.success ? { record, bill: parsed.data.bill } : undefined;
  }

  async keepImage(key: string, { record, bill }: KeptImage): Promise<void> {
    await this.#workshop.drafts.writeJson(this.#file('bills', key), { bill });
    await this.#workshop.records.writeBase(key, record);
  }

  #file(folder: 'steps' | 'bills', key: string): string {
    return join(this.#workshop.drafts.path, folder, `${key}.json`);
  }
}
