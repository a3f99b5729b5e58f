import type { Duplex } from 'node:stream';
import type { BaseImage } from '../../images.ts';
import type { SessionBlob } from './session/blob-store.ts';
import type { ContextEntry } from './session/context-tree.ts';

/** Where BuildKit is: in a Docker engine, or by itself. */
export interface BuildPlace {
  /** For people: its address. */
  readonly where: string;
  /** How results leave it: `moby` stays there as an image, `docker` is sent as an archive. */
  readonly exporter: 'moby' | 'docker';
  /** What would make it usable, for whoever finds it is not. */
  readonly fix: string;
  /** A stream on which its gRPC is spoken. */
  connect(signal: AbortSignal): Promise<Duplex>;
  /** Makes a base known there. */
  bring(base: BaseImage, signal: AbortSignal, progress: (line: string) => void): Promise<BroughtBase>;
  /** What the result of one build is called there. */
  newName(): string;
  /** Writes the result of a build to a file, where it was not sent already. */
  collect(result: BuildResult, signal: AbortSignal): Promise<void>;
  /** Removes what a build of this name left there, as far as it can be reached. */
  discard(name: string): Promise<void>;
  close(): void;
}

export interface BroughtBase {
  /** How a Containerfile begins with it. */
  readonly lines: readonly string[];
  /** What of it comes with the context. */
  readonly entries: readonly ContextEntry[];
  /** The number that BuildKit gives to the first step, where it is not the one after the base. */
  readonly firstStep?: number;
  /** What the reader of Containerfiles is told of it, and the content that it then asks for. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly blobs?: readonly SessionBlob[];
  /** How many layers of a result are the base's. */
  readonly layerCount: number;
}

export interface BuildResult {
  readonly name: string;
  readonly file: string;
}
