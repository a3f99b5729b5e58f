import type { Id, Owner, ReasonCode, SupportFailure, WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';

/**
 * A driver launches and holds sandboxes on one kind of backend: an OCI runtime, a Docker engine, a cloud.
 *
 * Vocabulary
 * - **Instance**: what the backend has of one incarnation of one sandbox: a container, a machine. Its `InstanceKey`
 *   (sandbox id and incarnation) is its name towards Caisson; what the backend calls it is the driver's own affair.
 * - **Core**: probe, supports, create, inspect, destroy, list. Every driver has all of it.
 * - **Ability**: what a driver may have beyond the core. It is declared as data in `capabilities` and present as a
 *   method; one without the other is a defect. Asking for an absent one is an error of the kind `not_supported`, made
 *   by the caller from `capabilities`; a method never does nothing and calls it done.
 * - **Guest**: our program, PID 1 of the instance. Commands, files and ports go through it and never through the driver.
 *
 * Laws
 * 1. `create` is idempotent: for a key that already has an instance it answers that instance, also when an earlier
 *    `create` was killed half-way; it never makes a second one. It returns when the guest answers (where there is one).
 * 2. A `create` that fails leaves nothing behind, or leaves it where `list` and `destroy` find it. One that was to begin
 *    from a kept filesystem leaves that filesystem as it was.
 * 3. `destroy` is idempotent: for a key that has no instance it succeeds. When it returns nothing of the instance is
 *    left on the backend. It also ends a `create` that hangs half-way.
 * 4. `inspect` answers `gone` only when it knows. A backend that does not answer is `unknown`, and nothing is reaped
 *    or repaired because of an `unknown`.
 * 5. `list` answers only instances of its own installation (the label `caisson.installation`) whose key and whole owner
 *    can be recovered from the instance itself, with the labels that `create` was given; what has no whole owner is listed
 *    as an orphan, with whatever name the backend has for it. What `halt` keeps is no instance and is not listed.
 * 6. Every method takes a signal. When it is aborted the method rejects soon, and law 2 holds for what it had begun.
 * 7. Failures are thrown as CaissonError. The backend's words go into its context, its last lines only, no secrets.
 * 8. Nothing is remembered in the driver's memory alone: a new process with the same configuration finds everything.
 *
 * Example: the life of one instance
 *
 *   const failures = driver.supports(blueprint);            // [] or typed reasons why not
 *   const instance = await driver.create(request, signal);  // again after a crash: the same instance
 *   await driver.inspect(instance.key, signal);             // { status: 'running' }
 *   await driver.destroy(instance.key, signal);             // again: succeeds
 *   await driver.inspect(instance.key, signal);             // { status: 'gone' }
 */
export interface Driver
  extends Partial<Pausing>,
    Partial<Halting>,
    Partial<Attaching>,
    Partial<Measuring>,
    Partial<Snapshotting>,
    Partial<Imaging> {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** The host that it places sandboxes on, where that is not the server's own: an engine elsewhere. */
  readonly host?: string;
  /** Can it be used here? If not, why, and what would change that. Quick, and without side effects. */
  probe(signal: AbortSignal): Promise<Probe>;
  /** What of the blueprint it cannot do; empty when it can do all of it. Pure. */
  supports(blueprint: WorkspaceBlueprint): readonly SupportFailure[];
  create(request: CreateRequest, signal: AbortSignal): Promise<Instance>;
  inspect(key: InstanceKey, signal: AbortSignal): Promise<Inspection>;
  destroy(key: InstanceKey, signal: AbortSignal): Promise<void>;
  list(signal: AbortSignal): Promise<Listing>;
  /**
   * What is left on the machine of instances that `list` does not have any more, and that `destroy` frees. It may be
   * another installation's: whoever asks knows which are theirs.
   */
  leftovers?(signal: AbortSignal): Promise<readonly InstanceKey[]>;
  /** Whether an instance of the blueprint wants its root filesystem with ids of its own. Where storage is `ours`. */
  ownIds?(blueprint: WorkspaceBlueprint): boolean;
  /** Gets ready to be asked anything; before that, `supports` knows nothing of the machine. */
  open?(signal: AbortSignal): Promise<void>;
  /** Called when an instance seems to have ended by itself, so that nobody has to wait for the next look at all of them. */
  onEnded?: ((key: InstanceKey) => void) | undefined;
  /**
   * Called with the client of each instance as soon as there is one, before anything can run inside: at its creation, and
   * for those that an earlier process left, when they are first linked, which `list` does. Once for each client.
   */
  onGuest?: ((key: InstanceKey, guest: GuestClient) => void) | undefined;
  /** Lets go of everything but the instances. */
  close?(): Promise<void>;
}

export interface InstanceKey {
  readonly sandbox: Id<'sandbox'>;
  readonly incarnation: number;
}

/** Everything a driver needs to launch; it looks nothing up. */
export interface CreateRequest {
  readonly key: InstanceKey;
  readonly owner: Owner;
  readonly labels: Readonly<Record<string, string>>;
  readonly blueprint: WorkspaceBlueprint;
  /** Where `capabilities.storage` is `ours`: the prepared root filesystem, which outlives the instance. */
  readonly rootfs?: { readonly path: string; readonly ids?: { readonly first: number; readonly count: number } };
  /** Where `capabilities.storage` is `backend`: the image to launch, by digest. */
  readonly image?: { readonly reference: string; readonly digest: string };
  /** Begin from the filesystem that `halt` kept, not from the image. Only asked of drivers that can `halt`. */
  readonly fromKept?: boolean;
  /** The limits, with the defaults of the host where the blueprint has none. */
  readonly resources?: WorkspaceBlueprint['runtime']['resources'];
  /** The environment of every process: the image's, and the blueprint's over it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Nothing is added to the tree, not even the account of `user`: somebody wants to know what is changed in it. */
  readonly isBare?: boolean;
}

export interface Instance {
  readonly key: InstanceKey;
  readonly owner: Owner;
  /** The host it runs on, as the driver names it. */
  readonly host: string;
  /** Where this backend gives less than the blueprint preferred. Shown to the user. */
  readonly notices: readonly string[];
}

export type Inspection =
  | { readonly status: 'running' | 'paused' }
  | { readonly status: 'ended'; readonly reason: ReasonCode; readonly message: string }
  | { readonly status: 'gone' }
  | { readonly status: 'unknown'; readonly message: string };

export interface ListedInstance {
  readonly key: InstanceKey;
  readonly owner: Owner;
  /** Those that it was created with, whole; the driver's own may be among them. */
  readonly labels: Readonly<Record<string, string>>;
  /** It is there, but its first process is not running any more; `inspect` says why. */
  readonly ended: boolean;
  /** Its processes stand still. */
  readonly paused?: boolean;
}

export interface Orphan {
  readonly backendName: string;
  readonly key?: InstanceKey;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Listing {
  readonly instances: readonly ListedInstance[];
  readonly orphans: readonly Orphan[];
}

export type Probe = (
  | { readonly usable: true; readonly version: string; readonly detail: string }
  | { readonly usable: false; readonly why: string; readonly fix: string }
) & {
  /** What it stands on, each with the same question: one of several runtimes, say. */
  readonly parts?: readonly ProbePart[];
};

export type ProbePart =
  | { readonly name: string; readonly usable: true; readonly detail: string }
  | { readonly name: string; readonly usable: false; readonly why: string; readonly fix: string };

/** What a driver can do, as data: routing filters by it, the API and `doctor` show it, the suite checks it. */
export interface Capabilities {
  /** What stands between the sandbox and the host: nothing, kernel namespaces, a kernel in user space, a machine. */
  readonly isolation: 'none' | 'namespaces' | 'user-kernel' | 'vm' | 'remote';
  /** Who owns the filesystem: our Storage, which hands in a root filesystem, or the backend. */
  readonly storage: 'ours' | 'backend';
  /** `gate`: only new work is held back; `freeze`: processes stand still; `memory`: their memory is written out too. */
  readonly pause: 'none' | 'gate' | 'freeze' | 'memory';
  readonly snapshots: 'none' | 'filesystem' | 'memory';
  readonly networkModes: readonly ('off' | 'allowlist' | 'open')[];
  readonly limits: readonly ('cpus' | 'memoryMiB' | 'diskMiB' | 'pids')[];
  /** Root inside is nobody outside, with a range of ids of its own. */
  readonly userNamespace: boolean;
  /** All but the workspace can be made read-only. Absent where it cannot. */
  readonly readOnlyRoot?: boolean;
  /** A guest runs inside: commands, files, terminals and ports work. */
  readonly guest: boolean;
  /** The backend can end the processes and keep the filesystem. Drivers on our storage need not: we keep it. */
  readonly halt: boolean;
  readonly stats: boolean;
  readonly meter: boolean;
  readonly logs: boolean;
}

export interface Pausing {
  pause(key: InstanceKey, signal: AbortSignal): Promise<void>;
  resume(key: InstanceKey, signal: AbortSignal): Promise<void>;
}

export interface Halting {
  /** Ends every process and keeps the filesystem for a later `create` with `fromKept`. Idempotent. */
  halt(key: InstanceKey, signal: AbortSignal): Promise<void>;
}

export interface Attaching {
  /**
   * The guest of an instance that runs. The same client as long as the instance lives, whatever happens to the
   * connection below it; `instance_lost` when there is no such instance.
   */
  guest(key: InstanceKey, signal: AbortSignal): Promise<GuestClient>;
}

export interface Measuring {
  stats(key: InstanceKey, signal: AbortSignal): Promise<InstanceStats>;
  /** What has been used since the instance began, for billing. Never goes down within one instance. */
  meter(key: InstanceKey, signal: AbortSignal): Promise<InstanceMeter>;
  /** The last lines of what the backend logged about the instance. */
  logs(key: InstanceKey, signal: AbortSignal): Promise<readonly string[]>;
}

/** Only where `capabilities.storage` is `backend`. */
export interface Snapshotting {
  /** Of an instance, or of what `halt` kept. Whoever wants its files at one moment pauses it before. */
  snapshot(key: InstanceKey, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void>;
  /** Ends the instance. What is kept for a `create` with `fromKept` is the snapshot's files from then on. Idempotent. */
  rollback(key: InstanceKey, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void>;
  /** As `create`, from the snapshot's files in place of an image. */
  fork(snapshot: Id<'snapshot'>, request: CreateRequest, signal: AbortSignal): Promise<Instance>;
  /** Idempotent. What instances still stand on goes when they do. */
  removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void>;
  /** Those of its own installation. */
  listSnapshots(signal: AbortSignal): Promise<readonly Id<'snapshot'>[]>;
}

/** Only where `capabilities.storage` is `backend`, and images have to be there before they are launched. */
export interface Imaging {
  /** What the backend itself has under this name; undefined when it has none. */
  findImage(reference: string, signal: AbortSignal): Promise<BackendImage | undefined>;
  /** Gives the backend an image: an archive as `docker save` writes it, which names its own tag. */
  loadImage(archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Removes what it was given. Answers false while something of the backend uses it; what is not there is removed. */
  removeImage?(reference: string, signal: AbortSignal): Promise<boolean>;
}

/** Under which a backend has everything that Caisson itself gives it or makes there. */
export const ownImages = 'localhost/caisson/';

export interface BackendImage {
  /** What to launch it by: it means the same image for ever. */
  readonly reference: string;
  readonly digest: string;
  readonly env: Readonly<Record<string, string>>;
  readonly notices: readonly string[];
  /** Of which machines, as images name them. */
  readonly architecture?: string;
  /**
   * Caisson made it or gave it, and nobody else has a name for it: the files of somebody's sandbox, or an image that was
   * brought for one. With whose they are, where that is known.
   */
  readonly made?: { readonly owner?: Owner | undefined };
}

export interface InstanceStats {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

export interface InstanceMeter {
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/** The methods that each capability promises. The suite checks that they are there exactly when it does. */
export const abilityMethods = {
  pause: ['pause', 'resume'],
  halt: ['halt'],
  guest: ['guest'],
  stats: ['stats'],
  meter: ['meter'],
  logs: ['logs'],
  snapshots: ['snapshot', 'rollback', 'fork', 'removeSnapshot', 'listSnapshots'],
} as const satisfies Partial<Record<keyof Capabilities, readonly (keyof Driver)[]>>;

export type Ability = keyof typeof abilityMethods;

export function hasAbility(driver: Driver, ability: Ability): boolean {
  const declared = driver.capabilities[ability];
  if (ability === 'snapshots' && driver.capabilities.storage === 'ours') return false;
  return declared !== false && declared !== 'none';
}
