import {
  type AddWebhook,
  CaissonError,
  type CaissonEvent,
  type DeadLetter,
  newId,
  type Webhook,
  type WebhookTest,
} from '@caisson/contract';
import { reasonOf } from '../events/sink.ts';
import type { Vault } from '../network/secrets/vault.ts';
import { isoTime } from '../store/sandbox-row.ts';
import type { Store } from '../store/store.ts';
import type { StoredWebhook } from '../store/webhooks.ts';
import { type Caller, canSee, projectOf } from '../tenancy/caller.ts';
import { Turns } from '../turns/turns.ts';
import { type Deliveries, sealedUnder } from './deliveries.ts';
import type { Reach } from './reach.ts';
import { newWebhookSecret } from './signature.ts';
import { NotAccepted } from './signed-poster.ts';

/** How long the secret before the present one signs too. */
const overlapMs = 24 * 3_600_000;

export interface WebhooksContext {
  readonly store: Store;
  readonly vault: Vault;
  readonly reach: Reach;
  readonly deliveries: Deliveries;
}

type WithSecret = Webhook & { readonly secret: string };

/**
 * What can be asked about webhooks. Every method takes the caller and checks the owner.
 *
 * Law: what begins or ends the deliveries of a webhook takes turns, and looks for it again when its turn has come. So there
 * is one pump for each that is there, and none for one that was removed.
 */
export class Webhooks {
  readonly #context: WebhooksContext;
  readonly #turns = new Turns();

  constructor(context: WebhooksContext) {
    this.#context = context;
  }

  async add(caller: Caller, request: AddWebhook): Promise<WithSecret> {
    const { store, vault, reach, deliveries } = this.#context;
    const { tenant, principal } = caller.owner;
    const project = projectOf(caller, request.project);
    reach.require(new URL(request.url));
    const end = await store.events.end();
    const id = newId('webhook');
    const secret = newWebhookSecret();
    const { url, description = null, types = null, labels = {}, after = end } = request;
    const sealed = vault.seal(secret, sealedUnder({ id, tenant, project }));
    return this.#inTurn(id, async () => {
      const webhook = await store.webhooks.add(
        { id, tenant, project, principal, url, description, types, labels, sealed },
        Math.min(after, end),
      );
      deliveries.begin(webhook);
      return { ...(await this.#shown(webhook)), secret };
    });
  }

  async list(caller: Caller, project?: string): Promise<Webhook[]> {
    const place = { tenant: caller.owner.tenant, project: projectOf(caller, project) };
    const found = await this.#context.store.webhooks.list(place);
    const states = await this.#context.store.sinks.states(found.map(({ id }) => id));
    return found.map((webhook) => toWebhook(webhook, states.get(webhook.id)));
  }

  async get(caller: Caller, id: string): Promise<Webhook> {
    return this.#shown(await this.#own(caller, id));
  }

  async remove(caller: Caller, id: string): Promise<Webhook> {
    return this.#inTurn(id, async () => {
      const webhook = await this.#own(caller, id);
      const shown = await this.#shown(webhook);
      await this.#context.deliveries.end(webhook.id);
      await this.#context.store.webhooks.remove(webhook.id);
      return shown;
    });
  }

  /** The old one signs too for a day, so that receivers need not change at the same moment. */
  async rotate(caller: Caller, id: string): Promise<WithSecret> {
    const { store, vault, deliveries } = this.#context;
    return this.#inTurn(id, async () => {
      const webhook = await this.#own(caller, id);
      const secret = newWebhookSecret();
      const old = { sealed: webhook.sealed, until: Date.now() + overlapMs };
      const rotated = await store.webhooks.rotate(webhook.id, vault.seal(secret, sealedUnder(webhook)), old);
      if (!rotated) throw new CaissonError('state_changed', `somebody else changed ${id} at the same time`);
      await deliveries.end(webhook.id);
      deliveries.begin(rotated);
      return { ...(await this.#shown(rotated)), secret };
    });
  }

  async replay(caller: Caller, id: string, after: number): Promise<Webhook> {
    const { store, deliveries } = this.#context;
    return this.#inTurn(id, async () => {
      const webhook = await this.#own(caller, id);
      const end = await store.events.end();
      if (after > end)
        throw new CaissonError('request_invalid', `the log ends at ${end}: there is nothing after ${after}`);
      await deliveries.end(webhook.id);
      try {
        await store.sinks.rewind(webhook.id, after);
      } finally {
        deliveries.begin(webhook);
      }
      return this.#shown(webhook);
    });
  }

  #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(id, new AbortController().signal, work);
  }

  /** One delivery beside all others: nothing is tried again, and no position changes. */
  async test(caller: Caller, id: string, signal: AbortSignal): Promise<WebhookTest> {
    const webhook = await this.#own(caller, id);
    const sink = this.#context.deliveries.sinkOf(webhook);
    const began = performance.now();
    const ms = () => Math.round(performance.now() - began);
    try {
      const status = await sink.post(this.#testEvent(webhook), signal);
      return { ok: true, status, ms: ms(), error: null };
    } catch (error) {
      const status = error instanceof NotAccepted ? error.status : null;
      return { ok: false, status, ms: ms(), error: reasonOf(error) };
    } finally {
      await sink.close();
    }
  }

  async deadLetters(caller: Caller, id: string, limit: number, before?: number): Promise<DeadLetter[]> {
    const webhook = await this.#own(caller, id);
    return this.#context.store.sinks.deadLetters(webhook.id, limit, before);
  }

  async #own(caller: Caller, id: string): Promise<StoredWebhook> {
    const webhook = await this.#context.store.webhooks.get(id);
    // Another tenant's id is answered like one that does not exist.
    if (!webhook || !canSee(caller, webhook)) throw new CaissonError('webhook_not_found', `there is no webhook ${id}`);
    return webhook;
  }

  async #shown(webhook: StoredWebhook): Promise<Webhook> {
    return toWebhook(webhook, (await this.#context.store.sinks.states([webhook.id])).get(webhook.id));
  }

  #testEvent({ id, tenant, project }: StoredWebhook): CaissonEvent {
    return {
      ...{ specversion: '1.0', datacontenttype: 'application/json', type: 'caisson.webhook.test' },
      ...{ id: newId('event'), source: `/caisson/${this.#context.store.installation}`, subject: id },
      ...{ time: new Date().toISOString(), sequence: 1, position: 1, tenant, project, data: { webhook: id } },
    } as CaissonEvent;
  }
}

function toWebhook(webhook: StoredWebhook, state: Omit<Webhook, keyof StoredWebhook> | undefined): Webhook {
  const { id, tenant, project, url, description, types, labels, createdAt } = webhook;
  const { position = 0, held = 0, deadLetters = 0, error = null } = state ?? {};
  return {
    ...{ id, tenant, project, url, description, position, held, deadLetters, error, labels },
    types: types === null ? null : [...types],
    createdAt: isoTime(createdAt),
  };
}
