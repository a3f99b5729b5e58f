import { randomUUID } from 'node:crypto';
import { CaissonError, type CaissonEvent } from '@caisson/contract';
import { NotDelivered } from '../events/sink.ts';
import { SinkPump } from '../events/sink-pump.ts';
import type { Trust } from '../network/proxy/trust.ts';
import type { Vault } from '../network/secrets/vault.ts';
import type { Store } from '../store/store.ts';
import type { StoredWebhook } from '../store/webhooks.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Reach } from './reach.ts';
import { WebhookSink } from './webhook-sink.ts';

export interface DeliveriesOptions {
  readonly store: Store;
  readonly vault: Vault;
  readonly reach: Reach;
  readonly trust: Trust;
  readonly version: string;
  readonly log?: Pick<Logger, 'warn'> | undefined;
  /** How each try of a delivery went, and how long after its event. */
  tried?(outcome: 'delivered' | 'failed' | 'dead', ageMs: number): void;
  /** In place of the usual pauses and tries, for tests. */
  readonly retry?: { readonly maxTries: number; readonly ms: number } | undefined;
}

/** What a secret is sealed under: whoever changes the row does not make it sign for somebody else. */
export function sealedUnder({ id, tenant, project }: Pick<StoredWebhook, 'id' | 'tenant' | 'project'>) {
  return ['webhook', tenant, project, id];
}

/** One pump for each webhook, told of the events of its project. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #holder = randomUUID();
  readonly #pumps = new Map<string, { readonly pump: SinkPump; readonly place: string }>();
  readonly #byPlace = new Map<string, Set<SinkPump>>();
  #stopListening = () => {};

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { store } = this.#options;
    this.#stopListening = store.onEvent((event) => {
      for (const pump of this.#byPlace.get(placeOf(event)) ?? []) pump.heard(event.position);
    });
    for (const webhook of await store.webhooks.list()) this.begin(webhook);
  }

  async close(): Promise<void> {
    this.#stopListening();
    await Promise.all([...this.#pumps.keys()].map((id) => this.end(id)));
  }

  /** How all of them do. */
  get numbers() {
    const backlogs = [...this.#pumps.values()].map(({ pump }) => pump.backlog);
    const since = Math.min(...backlogs.map((one) => one.since ?? Number.POSITIVE_INFINITY));
    return {
      webhooks: backlogs.length,
      behind: Math.max(0, ...backlogs.map(({ behind }) => behind)),
      oldestSeconds: Number.isFinite(since) ? Math.max(0, Date.now() - since) / 1000 : 0,
      held: backlogs.reduce((sum, { held }) => sum + held, 0),
    };
  }

  begin(webhook: StoredWebhook): void {
    const { store, log, retry, tried } = this.#options;
    const { id, tenant, project, types, labels } = webhook;
    const pump = new SinkPump({
      ...{ name: id, sink: this.sinkOf(webhook), store, holder: this.#holder, from: 0 },
      filter: {
        ...{ tenant, project, labels: Object.entries(labels) },
        ...(types === null ? {} : { types }),
      },
      ...(retry ? { maxTries: retry.maxTries, retryMs: () => retry.ms } : {}),
      tried: (event, outcome) => tried?.(outcome, Date.now() - Date.parse(event.time)),
      gaveUp: (event, why) => log?.warn({ webhook: id, event: event.id, why }, 'an event was given up'),
      failed: (error) => log?.warn({ webhook: id, err: error }, 'deliveries wait'),
    });
    const place = placeOf(webhook);
    this.#pumps.set(id, { pump, place });
    const others = this.#byPlace.get(place) ?? new Set();
    this.#byPlace.set(place, others.add(pump));
    pump.start();
  }

  /** Resolves when nothing of it is on its way any more. */
  async end(id: string): Promise<void> {
    const running = this.#pumps.get(id);
    if (!running) return;
    this.#pumps.delete(id);
    const others = this.#byPlace.get(running.place);
    others?.delete(running.pump);
    if (others?.size === 0) this.#byPlace.delete(running.place);
    await running.pump.stop();
  }

  sinkOf(webhook: StoredWebhook): WebhookSink {
    const { reach, trust, version } = this.#options;
    return new WebhookSink({ url: webhook.url, reach, trust, version, secrets: this.#secretsOf(webhook) });
  }

  /** Opened when they are first needed: a key that is missing at the start may be there later. */
  #secretsOf(webhook: StoredWebhook): () => readonly string[] {
    const { vault } = this.#options;
    let opened: { readonly secret: string; readonly old: string | undefined } | undefined;
    return () => {
      const under = sealedUnder(webhook);
      try {
        opened ??= {
          secret: vault.open(webhook.sealed, under),
          old: webhook.old ? vault.open(webhook.old.sealed, under) : undefined,
        };
      } catch (error) {
        throw error instanceof CaissonError ? new NotDelivered(`its secret cannot be read: ${error.message}`) : error;
      }
      const { secret, old } = opened;
      return old !== undefined && webhook.old && webhook.old.until > Date.now() ? [secret, old] : [secret];
    };
  }
}

function placeOf({ tenant, project }: Pick<CaissonEvent, 'tenant' | 'project'>): string {
  return `${tenant}/${project}`;
}
