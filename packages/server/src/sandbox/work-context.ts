import type { Backend, HourlyRates, ResolvedProfile, Sandbox } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import type { EgressSubjects } from '../network/egress.ts';
import type { InsideSecrets } from '../network/secrets/inside-secrets.ts';
import type { BackendHealth } from '../routing/backend-health.ts';
import type { SandboxSize } from '../store/sandbox-size.ts';
import type { Store } from '../store/store.ts';
import type { Spans } from '../telemetry/spans.ts';
import type { BackendImages } from './backend-images.ts';
import type { Filesystems } from './filesystems.ts';
import type { Papers } from './healing/papers.ts';
import type { ImageChoice } from './image-choice.ts';
import type { InFlight } from './in-flight.ts';
import type { Stillness } from './travel/stillness.ts';

/** How long a driver may take, by what it is asked. Longer and a person has given up; shorter and a slow disk fails. */
export interface Deadlines {
  /** Finding or making the base: a large image over a slow line. */
  readonly prepareMs: number;
  readonly launchMs: number;
  /** All startup steps of a spec together: they may install and compile. */
  readonly startupMs: number;
  readonly endMs: number;
  readonly inspectMs: number;
  /** What was never written out has to be, and some storages copy. */
  readonly snapshotMs: number;
}

export const defaultDeadlines: Deadlines = {
  prepareMs: 900_000,
  launchMs: 120_000,
  startupMs: 900_000,
  endMs: 60_000,
  inspectMs: 10_000,
  snapshotMs: 300_000,
};

export interface WorkContext {
  /** What sandboxes may reach. */
  readonly subjects: EgressSubjects;
  readonly store: Store;
  readonly deadlines: Deadlines;
  readonly installation: string;
  /** What instances carry, so that a lost record can be made again; without it none is. */
  readonly papers?: Papers | undefined;
  /** What takes time is told to them. */
  readonly spans: Spans;
  driver(name: string | null): Driver;
  /** The profile of a record, where it is still there. */
  readonly profile?: ((sandbox: Sandbox) => ResolvedProfile | undefined) | undefined;
  /** Whether a new sandbox of this record looks at itself before it is ready. */
  selfChecks?(sandbox: Sandbox): boolean;
  /** What a size costs for an hour on a backend; absent where nobody pays. */
  readonly rates?: ((backend: Backend, size: SandboxSize) => HourlyRates | null) | undefined;
  /** How backends do: told of each launch. */
  readonly health?: BackendHealth | undefined;
  readonly stillness: Stillness;
  /** Tools that run. */
  readonly inFlight: InFlight;
  /** For drivers whose filesystem is ours; absent where there is none of them. */
  readonly filesystems?: Filesystems | undefined;
  /** For drivers whose backend has to be given images; absent where there is none of them. */
  readonly backendImages?: BackendImages | undefined;
  /** What is launched where that has to be built; absent where nothing is built and nothing comes from elsewhere. */
  readonly imageChoice?: ImageChoice | undefined;
  /** What sandboxes have inside for their secrets. */
  readonly secrets?: InsideSecrets | undefined;
}
