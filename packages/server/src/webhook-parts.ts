import { CaissonError } from '@caisson/contract';
import { FileSink } from './events/file-sink.ts';
import { SinkPump } from './events/sink-pump.ts';
import { MachineResolver } from './network/dial/machine-resolver.ts';
import type { Resolver } from './network/egress.ts';
import { Trust } from './network/proxy/trust.ts';
import type { Vault } from './network/secrets/vault.ts';
import { readRoots } from './open-egress.ts';
import type { Store } from './store/store.ts';
import type { Logger } from './telemetry/log.ts';
import { Deliveries, type DeliveriesOptions } from './webhooks/deliveries.ts';
import { Reach } from './webhooks/reach.ts';
import { Webhooks } from './webhooks/webhooks.ts';

/** What the operator of a server says of where events go. */
export interface SinkSettings {
  /** Private addresses that webhooks may have all the same, also by plain HTTP: `10.1.0.0/16`, `127.0.0.1:8080`. */
  readonly open?: readonly string[] | undefined;
  /** A file of certificates to trust besides the machine's, as PEM. */
  readonly rootsFile?: string | undefined;
  /** More of them, as they are. */
  readonly roots?: readonly string[] | undefined;
  /** A file to which every event of every tenant is appended. */
  readonly eventsFile?: string | undefined;
  /** In place of the machine's own, for tests. */
  readonly resolver?: Resolver | undefined;
  readonly retry?: DeliveriesOptions['retry'];
}

export interface Sinks {
  readonly webhooks: Webhooks;
  /** Deliveries begin. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Everything to which events go by themselves. */
export function openSinks(
  store: Store,
  vault: Vault,
  settings: SinkSettings,
  options: { readonly version: string; readonly log?: Pick<Logger, 'warn'> | undefined },
): Sinks {
  const reach = openReach(settings);
  const trust = new Trust([...readRoots('--webhook-roots', settings.rootsFile), ...(settings.roots ?? [])]);
  const deliveries = new Deliveries({ ...{ store, vault, reach, trust, retry: settings.retry }, ...options });
  const file = settings.eventsFile === undefined ? undefined : filePump(store, settings.eventsFile, options.log);
  const stopListening = file ? store.onEvent(({ position }) => file.heard(position)) : () => {};
  return {
    webhooks: new Webhooks({ store, vault, reach, deliveries }),
    async open() {
      file?.start();
      await deliveries.open();
    },
    async close() {
      stopListening();
      await Promise.all([file?.stop(), deliveries.close()]);
    },
  };
}

/** From the beginning of the log: the file is a whole record. What fails is tried for as long as it takes. */
function filePump(store: Store, path: string, log: Pick<Logger, 'warn'> | undefined): SinkPump {
  return new SinkPump({
    ...{ name: `file:${path}`, sink: new FileSink(path), store, filter: {}, from: 0 },
    holder: `${process.pid}.${Date.now()}`,
    maxTries: Number.POSITIVE_INFINITY,
    failed: (error) => log?.warn({ err: error, path }, 'events wait for their file'),
  });
}

function openReach({ resolver, open = [] }: SinkSettings): Reach {
  try {
    return new Reach(resolver ?? new MachineResolver(), open);
  } catch (cause) {
    throw new CaissonError('request_invalid', `--webhook-open: ${(cause as Error).message}`, { cause });
  }
}
