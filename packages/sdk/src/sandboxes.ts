import type {
  Attempt,
  AttemptSummary,
  CaissonEvent,
  CreateSandbox,
  ExpireReport,
  RouteDecision,
  Sandbox,
  SandboxRoute,
  SandboxState,
} from '@caisson/contract';
import type { CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { type EventOptions, type EventPage, eventsOf } from './events.ts';
import { given } from './given.ts';
import { eachItem, type Page } from './pages.ts';
import { type ActOptions, type PauseOptions, SandboxHandle } from './sandbox-handle.ts';

/** Which sandboxes; all that is given must fit. */
export interface SandboxFilter {
  readonly project?: string | undefined;
  readonly principal?: string | undefined;
  readonly state?: SandboxState | readonly SandboxState[] | undefined;
  readonly profile?: string | undefined;
  readonly name?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Destroyed ones too. */
  readonly all?: boolean | undefined;
}

export interface PageOptions extends CallOptions {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export interface RollbackOptions extends ActOptions {
  /** Also while tools run in it. */
  readonly force?: boolean | undefined;
}

export type ExpireRequest = NonNullable<CallInput<'lease.expire'>['body']>;
export type ForkRequest = NonNullable<CallInput<'sandbox.fork'>['body']>;

/** The routes that do something to one sandbox and answer its record. */
type ActName = `sandbox.${'recreate' | 'stop' | 'start' | 'resume'}`;

/** Sandboxes of the caller's project. */
export class Sandboxes {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** A new sandbox. Still on its way when it took longer than `waitSeconds`: see {@link SandboxHandle.untilSettled}. */
  async create(request: CreateSandbox = {}, options: CallOptions = {}): Promise<SandboxHandle> {
    return this.handle(await this.#connection.call('sandbox.create', { body: request, ...options }));
  }

  /** The healthy sandbox of this owner, profile and name: the present one, or a new one. */
  async ensure(request: CreateSandbox = {}, options: CallOptions = {}): Promise<SandboxHandle> {
    return this.handle(await this.#connection.call('sandbox.ensure', { body: request, ...options }));
  }

  /** Where a create with this request would go, and why; nothing is launched. */
  explain(request: CreateSandbox = {}, options: CallOptions = {}): Promise<RouteDecision> {
    return this.#connection.call('route.explain', { body: request, ...options });
  }

  /** The route that one took: every candidate with its rank or its reasons, and the tries that failed. */
  route(id: string, options: CallOptions = {}): Promise<SandboxRoute> {
    return this.#connection.call('sandbox.route', { params: { id }, ...options });
  }

  async get(id: string, options: CallOptions = {}): Promise<SandboxHandle> {
    return this.handle(await this.#connection.call('sandbox.get', { params: { id }, ...options }));
  }

  /** Every sandbox that fits, newest first, read page by page. */
  list(filter: SandboxFilter = {}, options: PageOptions = {}): AsyncGenerator<SandboxHandle, void, undefined> {
    return eachItem((after) => this.page(filter, { ...options, after }), options.after);
  }

  async page(filter: SandboxFilter = {}, options: PageOptions = {}): Promise<Page<SandboxHandle>> {
    const { limit, after, ...rest } = options;
    const { labels = {}, all, state, ...fields } = filter;
    const query = {
      ...fields,
      limit,
      after,
      state: typeof state === 'object' ? [...state] : state,
      all: all === undefined ? undefined : String(all),
      label: Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    };
    const page = await this.#connection.call('sandbox.list', { query: given(query), ...rest });
    return { items: page.items.map((record) => this.handle(record)), next: page.next };
  }

  recreate(id: string, options: ActOptions = {}): Promise<SandboxHandle> {
    return this.#act('sandbox.recreate', id, options);
  }

  stop(id: string, options: ActOptions = {}): Promise<SandboxHandle> {
    return this.#act('sandbox.stop', id, options);
  }

  start(id: string, options: ActOptions = {}): Promise<SandboxHandle> {
    return this.#act('sandbox.start', id, options);
  }

  async pause(id: string, options: PauseOptions = {}): Promise<SandboxHandle> {
    const { waitSeconds, drainSeconds, ...rest } = options;
    const body = given({ waitSeconds, drainSeconds });
    return this.handle(await this.#connection.call('sandbox.pause', { params: { id }, body, ...rest }));
  }

  resume(id: string, options: ActOptions = {}): Promise<SandboxHandle> {
    return this.#act('sandbox.resume', id, options);
  }

  /** Lets its lease end later by so many seconds; refused beyond its maximum, which the error names. */
  async extend(id: string, seconds: number, options: CallOptions = {}): Promise<SandboxHandle> {
    return this.handle(
      await this.#connection.call('sandbox.extend', { params: { id }, body: { seconds }, ...options }),
    );
  }

  /** Which leases of the project have ended or end soon; with `apply` those that are due are ended now. */
  expire(request: ExpireRequest = {}, options: CallOptions = {}): Promise<ExpireReport> {
    return this.#connection.call('lease.expire', { body: request, ...options });
  }

  /** Puts its files back to a snapshot, by its id or its name; its processes end. */
  async rollback(id: string, snapshot: string, options: RollbackOptions = {}): Promise<SandboxHandle> {
    const { waitSeconds, force, ...rest } = options;
    const body = { snapshot, ...given({ waitSeconds, force }) };
    return this.handle(await this.#connection.call('sandbox.rollback', { params: { id }, body, ...rest }));
  }

  /** New sandboxes that begin with its files as they are now. */
  async fork(id: string, request: ForkRequest = {}, options: CallOptions = {}): Promise<SandboxHandle[]> {
    const { items } = await this.#connection.call('sandbox.fork', { params: { id }, body: request, ...options });
    return items.map((record) => this.handle(record));
  }

  async destroy(id: string, options: ActOptions = {}): Promise<SandboxHandle> {
    const { waitSeconds, ...rest } = options;
    const query = given({ waitSeconds });
    return this.handle(await this.#connection.call('sandbox.destroy', { params: { id }, query, ...rest }));
  }

  /** Its events: live ones without end, or with `follow: false` those of the past. */
  events(id: string, options: EventOptions = {}): AsyncGenerator<CaissonEvent, void, undefined> {
    const page: EventPage = ({ after, limit, type }, calls) =>
      this.#connection.call('sandbox.events', {
        params: { id },
        query: { limit, ...given({ after, type }) },
        ...calls,
      });
    return eventsOf(this.#connection.transport, 'sandbox.events', { id }, page, options);
  }

  /** Every try at build and launch, newest first. */
  attempts(id: string, options: PageOptions = {}): AsyncGenerator<AttemptSummary, void, undefined> {
    const { limit, after, ...calls } = options;
    const page = (cursor: string | undefined) =>
      this.#connection.call('sandbox.attempts', { params: { id }, query: given({ limit, after: cursor }), ...calls });
    return eachItem(page, after);
  }

  /** One try with its inputs as they were: what exactly ran. */
  attempt(id: string, attempt: string, options: CallOptions = {}): Promise<Attempt> {
    return this.#connection.call('sandbox.attempt', { params: { id, attempt }, ...options });
  }

  async #act(name: ActName, id: string, { waitSeconds, ...rest }: ActOptions): Promise<SandboxHandle> {
    const body = given({ waitSeconds });
    return this.handle(await this.#connection.call(name, { params: { id }, body, ...rest }));
  }

  /** A record as something to act on. */
  handle(record: Sandbox): SandboxHandle {
    return new SandboxHandle(record, this, this.#connection);
  }
}
