import type { JsonRouteName, RouteName } from '@caisson/contract';
import { type CallAnswer, type CallArguments, type CallInput, callRoute } from './call.ts';
import { openRoute, type RawCall } from './raw-call.ts';
import { type CaissonOptions, type FetchAnswer, Transport } from './transport.ts';

/** With the pauses between, about three seconds: the restart of a server is survived, a dead one is soon told. */
const defaultRetries = 4;

/** One server, and how often a request to it is repeated. Everything that the SDK offers goes through here. */
export class Connection {
  readonly transport: Transport;
  readonly #retries: number;

  constructor(options: CaissonOptions) {
    this.transport = new Transport(options);
    this.#retries = options.retries ?? defaultRetries;
  }

  call<N extends JsonRouteName>(name: N, ...[input]: CallArguments<N>): Promise<CallAnswer<N>> {
    return callRoute(this.transport, this.#retries, name, (input ?? {}) as CallInput<N>);
  }

  /** A route whose body or answer is bytes: the answer with its body not yet read. */
  open(name: RouteName, input: RawCall): Promise<FetchAnswer> {
    return openRoute(this.transport, this.#retries, name, input);
  }
}
