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
import { OperatorReach, Reach } from './webhooks/reach.ts';
import { isWebhookSecret } from './webhooks/signature.ts';
import { SignedPoster } from './webhooks/signed-poster.ts';
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
  /** How webhooks do. */
  readonly numbers: () => Deliveries['numbers'];
  /** Deliveries begin. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Everything to which events go by themselves. */
export function openSinks(
  store: Store,
  vault: Vault,
  settings: SinkSettings,
  options: Pick<DeliveriesOptions, 'version' | 'log' | 'tried'>,
): Sinks {
  const reach = openReach(settings);
  const trust = new Trust([...readRoots('--webhook-roots', settings.rootsFile), ...(settings.roots ?? [])]);
  const deliveries = new Deliveries({ ...{ store, vault, reach, trust, retry: settings.retry }, ...options });
  const file = settings.eventsFile === undefined ? undefined : filePump(store, settings.eventsFile, options.log);
  const stopListening = file ? store.onEvent(({ position }) => file.heard(position)) : () => {};
  return {
    webhooks: new Webhooks({ store, vault, reach, deliveries }),
    numbers: () => deliveries.numbers,
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

export interface UsageHookOptions {
  readonly url: string;
  /** Shared with the receiver: `whsec_` and base64, as those of webhooks are. */
  readonly secret: string;
}

/** Takes what was used to where the operator wants it, the way events go to webhooks. */
export function openUsagePoster(options: UsageHookOptions, settings: SinkSettings, version: string): SignedPoster {
  const { url, secret } = options;
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttp) throw new CaissonError('request_invalid', 'the usage hook must be an http or https URL');
  if (!isWebhookSecret(secret))
    throw new CaissonError(
      'request_invalid',
      'the secret of the usage hook must be `whsec_` and base64 of 24 bytes or more',
      {
        hint: 'Set CAISSON_USAGE_HOOK_SECRET to the output of `echo whsec_$(openssl rand -base64 32)`.',
      },
    );
  const reach = new OperatorReach(settings.resolver ?? new MachineResolver());
  const trust = new Trust(readRoots('--webhook-roots', settings.rootsFile));
  return new SignedPoster({ url, reach, trust, version, secrets: () => [secret], sockets: 1 });
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
