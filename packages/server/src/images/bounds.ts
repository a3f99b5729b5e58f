/** The most that an image may ask of the machine. More is refused with `image_too_large` while it comes in. */
export interface ImageBounds {
  /** One index or manifest. Registries themselves stop at 4 MiB. */
  readonly documentBytes: number;
  /** The image config; it carries the history of all layers. */
  readonly configBytes: number;
  /** An overlay takes 500 lower layers at most; builders stop at 127. */
  readonly layers: number;
  /** All compressed layers together. */
  readonly compressedBytes: number;
  /** One layer unpacked: what a small archive can blow up to. */
  readonly layerBytes: number;
  /** Members of one layer's archive, its extended headers included. */
  readonly layerEntries: number;
}

const GiB = 1024 ** 3;

/** Room for the largest images that people work in, with models and tool chains; a smaller disk is full before. */
export const defaultBounds: ImageBounds = {
  documentBytes: 4 * 1024 ** 2,
  configBytes: 8 * 1024 ** 2,
  layers: 128,
  compressedBytes: 32 * GiB,
  layerBytes: 64 * GiB,
  layerEntries: 4_000_000,
};
