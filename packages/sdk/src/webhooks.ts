import type { DeadLetter, Webhook, WebhookTest } from '@caisson/contract';
import type { CallAnswer, CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';
import { eachItem } from './pages.ts';

export type NewWebhook = CallInput<'webhook.add'>['body'];
/** With the secret that signs its deliveries, which is shown this once. */
export type WebhookWithSecret = CallAnswer<'webhook.add'>;

export interface WebhookListOptions extends CallOptions {
  /** Another project of the tenant. */
  readonly project?: string | undefined;
}

/** Where the events of a project are delivered to. Deliveries are checked with `verifyWebhook`. */
export class Webhooks {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  add(webhook: NewWebhook, options: CallOptions = {}): Promise<WebhookWithSecret> {
    return this.#connection.call('webhook.add', { body: webhook, ...options });
  }

  async list({ project, ...calls }: WebhookListOptions = {}): Promise<Webhook[]> {
    return (await this.#connection.call('webhook.list', { query: given({ project }), ...calls })).items;
  }

  get(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#connection.call('webhook.get', { params: { id }, ...options });
  }

  remove(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.#connection.call('webhook.remove', { params: { id }, ...options });
  }

  /** Delivers a test event now, once. What went wrong is in the answer. */
  test(id: string, options: CallOptions = {}): Promise<WebhookTest> {
    return this.#connection.call('webhook.test', { params: { id }, ...options });
  }

  /** A new secret; for a day the old one signs too. */
  rotate(id: string, options: CallOptions = {}): Promise<WebhookWithSecret> {
    return this.#connection.call('webhook.rotate', { params: { id }, ...options });
  }

  /** Delivers everything after a position of the log again; 0 is its beginning. */
  replay(id: string, after: number, options: CallOptions = {}): Promise<Webhook> {
    return this.#connection.call('webhook.replay', { params: { id }, body: { after }, ...options });
  }

  /** Events that were given up, newest first. */
  deadLetters(id: string, options: CallOptions = {}): AsyncGenerator<DeadLetter, void, undefined> {
    return eachItem((after) =>
      this.#connection.call('webhook.dead-letters', { params: { id }, query: given({ after }), ...options }),
    );
  }
}
