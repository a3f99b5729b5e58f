import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuildkitBuildSpec } from '@caisson/workspace-composition';
import type { BuildStep } from '../../plan/build-steps.ts';
import type { BuildEvent } from '../builder.ts';
import { buildFailure } from './build-failure.ts';
import type { BroughtBase, BuildPlace } from './build-place.ts';
import { progressOf, solve } from './control.ts';
import { GrpcClient } from './grpc/client.ts';
import { type ContextEntry, madeFile } from './session/context-tree.ts';
import { Session } from './session/session.ts';
import { StepLimit } from './step-limit.ts';
import { StepProgress } from './step-progress.ts';

export interface BuildLimits {
  /** How long one step may take. */
  readonly stepMs: number;
  /** What of its output is told. */
  readonly logBytes: number;
  /** How long BuildKit may say nothing at all. */
  readonly patienceMs: number;
}

export interface BuildRun {
  readonly place: BuildPlace;
  readonly spec: BuildkitBuildSpec;
  readonly steps: readonly BuildStep[];
  /** The context, without what the spec itself has. */
  readonly entries: readonly ContextEntry[];
  /** Takes the connections of steps to the way out, by what is spoken there. */
  readonly connect: Readonly<Record<string, (stream: Duplex) => void>>;
  readonly secrets?: Readonly<Record<string, Buffer>>;
  /** What its base needs besides. */
  readonly base: Pick<BroughtBase, 'attributes' | 'blobs' | 'firstStep'>;
  /** Under which the result is kept there. */
  readonly name: string;
  /** Where the result goes when it is sent. */
  readonly file: string;
  readonly limits: BuildLimits;
  readonly signal: AbortSignal;
  readonly tell: (event: BuildEvent) => void;
}

/** The last of what is told of a build comes a moment after its end. */
const lastWordsMs = 2_000;
const containerfile = 'Containerfile';

/** Runs one build to its end. When it throws, the build is over there too, as far as it can be reached. */
export async function runBuild(run: BuildRun): Promise<void> {
  const { place, steps, limits, signal } = run;
  const limit = new StepLimit(limits.stepMs);
  const progress = new StepProgress(steps, limit.watching(run.tell), limits.logBytes, run.base.firstStep);
  const client = new GrpcClient(await place.connect(signal), limits.patienceMs);
  let session: Session | undefined;
  let watching: Promise<void> | undefined;
  try {
    session = openSession(client, run);
    const ref = randomBytes(12).toString('hex');
    watching = watch(client, ref, progress);
    const request = { ref, session: session.id, ...exporterOf(run), attributes: attributesOf(run) };
    await solve(client, request, AbortSignal.any([signal, limit.signal]));
    await Promise.race([watching, delay(lastWordsMs, undefined, { ref: false })]);
    progress.end(false);
  } catch (error) {
    await Promise.race([watching, delay(lastWordsMs, undefined, { ref: false })]);
    const failed = progress.end(true);
    throw buildFailure(client.failure ?? error, { failed, where: place.where, limit, signal });
  } finally {
    limit.close();
    session?.close();
    client.close();
  }
}

function openSession(client: GrpcClient, { spec, entries, connect, secrets, base, file }: BuildRun): Session {
  const made = spec.files.map(({ path, content, mode }) => madeFile(path, Buffer.from(content), mode));
  return new Session(client, {
    trees: {
      dockerfile: [madeFile(containerfile, Buffer.from(spec.dockerfile))],
      context: [...made, ...entries],
    },
    ...(secrets === undefined ? {} : { secrets }),
    connect,
    blobs: base.blobs,
    receive: (content) => pipeline(content, createWriteStream(file, { mode: 0o600 })),
    mtimeSeconds: spec.sourceDateEpoch,
    // A file of the same size and time counts as the same there; and all have one time.
    sharedKey: randomBytes(12).toString('hex'),
  });
}

/** No step has a network: what it may reach it reaches through the session. */
function attributesOf({ spec, base }: BuildRun): Record<string, string> {
  return {
    ...base.attributes,
    filename: containerfile,
    'force-network-mode': 'none',
    platform: `${spec.platform.os}/${spec.platform.architecture}`,
  };
}

/** What is sent is not compressed: it goes over a local line and is unpacked at once. */
function exporterOf({ place, name }: BuildRun) {
  const plain = { compression: 'uncompressed', 'force-compression': 'true' };
  const exporterAttributes = { name, ...(place.exporter === 'docker' ? plain : {}) };
  return { exporter: place.exporter, exporterAttributes };
}

/** Never throws: why the build ended is told by its own call. */
async function watch(client: GrpcClient, ref: string, progress: StepProgress): Promise<void> {
  try {
    for await (const message of progressOf(client, ref)) progress.take(message);
  } catch {
    // The same failure is on its way to whoever waits for the build.
  }
}
