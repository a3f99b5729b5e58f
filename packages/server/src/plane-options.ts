import type { Engines } from './backends.ts';
import type { Driver } from './drivers/driver.ts';
import type { Builder } from './images/builders/builder.ts';
import type { CollectLimits } from './images/collect.ts';
import type { PackageNameClient } from './images/packages/name-service.ts';
import type { RegistryAccessOptions } from './images/registry/registry-access.ts';
import type { BuilderName } from './open-buildkit.ts';
import type { EgressSettings } from './open-egress.ts';
import type { SourceSettings } from './open-sources.ts';
import type { SourcesPort } from './sandbox/sources-port.ts';
import type { Deadlines } from './sandbox/work-context.ts';
import type { SecretsKey } from './secret-parts.ts';
import type { StorageWanted } from './storage-choice.ts';
import type { Limits } from './store/limits.ts';
import type { Logger } from './telemetry/log.ts';
import type { TraceSettings } from './telemetry-parts.ts';
import type { SinkSettings, UsageHookOptions } from './webhook-parts.ts';

/** What a server is made with, besides where it listens. */
export interface ControlPlaneOptions {
  readonly databaseUrl?: string | undefined;
  readonly version: string;
  /** The drivers to offer, in order of preference: by name, or as they are, for tests. */
  readonly drivers?: readonly (string | Driver)[] | undefined;
  /** Where root filesystems are kept, and the dataset of zfs for them. */
  readonly storage?: StorageWanted | undefined;
  /** Where engines are that are driven by their API. */
  readonly engines?: Engines | undefined;
  /** What images are built with. */
  readonly buildWith?: BuilderName | undefined;
  /** A file with an authority to trust besides the machine's, as PEM: by the server, its sandboxes' way out, and builds. */
  readonly extraCa?: string | undefined;
  /** The key of secrets; a file in the data folder when absent. */
  readonly secretsKey?: SecretsKey | undefined;
  /** What goes wrong where nobody waits for it. */
  readonly log?: Logger | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly deadlines?: Partial<Deadlines> | undefined;
  /** How long what nobody owns is left alone after it was told. */
  readonly orphanGraceSeconds?: number | undefined;
  /** What builds images, in place of the one that this machine has. */
  readonly builder?: Builder | undefined;
  /** How many builds run at a time, and how many of one tenant may wait. */
  readonly builds?: { readonly atOnce?: number | undefined; readonly maxPerTenant?: number | undefined } | undefined;
  /** Who is asked what a package is called that neither the catalog nor an index knows; nobody when absent. */
  readonly packageNames?: PackageNameClient | undefined;
  /** What brings repositories, folders and archives. */
  readonly sources?: SourcesPort | undefined;
  /** Which registries are asked, and as whom. */
  readonly registries?: RegistryAccessOptions | undefined;
  /** What stays of images that nothing uses. */
  readonly imageLimits?: Partial<CollectLimits> | undefined;
  /** The way out of sandboxes. */
  readonly egress?: EgressSettings | undefined;
  /** Who is told of what was used. */
  readonly usageHook?: UsageHookOptions | undefined;
  /** How long the audit log is kept; for ever when absent. */
  readonly auditDays?: number | undefined;
  /** What it may take, where it is the one of this server. */
  readonly sourceSettings?: SourceSettings | undefined;
  /** Where traces go; nowhere when absent. */
  readonly traces?: TraceSettings | undefined;
  /** Where events go. */
  readonly sinks?: SinkSettings | undefined;
  /** Another server took the database over: this one must end. */
  readonly onSuperseded?: (() => void) | undefined;
}
