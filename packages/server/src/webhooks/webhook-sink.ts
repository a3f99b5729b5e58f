import type { CaissonEvent } from '@caisson/contract';
import type { EventSink } from '../events/sink.ts';
import { type PosterOptions, SignedPoster } from './signed-poster.ts';

/** Posts each event to one address, signed. */
export class WebhookSink implements EventSink {
  readonly parallel = 32;
  readonly #poster: SignedPoster;

  constructor(options: Omit<PosterOptions, 'sockets'>) {
    this.#poster = new SignedPoster({ ...options, sockets: this.parallel });
  }

  async deliver(event: CaissonEvent, signal: AbortSignal): Promise<void> {
    await this.post(event, signal);
  }

  /** The status of the answer; throws `NotDelivered` unless it is one of success. */
  post(event: CaissonEvent, signal: AbortSignal): Promise<number> {
    const contentType = 'application/cloudevents+json; charset=utf-8';
    return this.#poster.post({ id: event.id, contentType, body: JSON.stringify(event) }, signal);
  }

  close(): Promise<void> {
    return this.#poster.close();
  }
}
