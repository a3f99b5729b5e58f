import { type CaissonEvent, type EventType, type Route, type RouteName, routes } from '@caisson/contract';
import type { CallOptions } from './call.ts';
import { type FollowOptions, followLog } from './event-stream.ts';
import { given } from './given.ts';
import { eachItem, type Page } from './pages.ts';
import type { Transport } from './transport.ts';

export interface EventOptions extends FollowOptions {
  /** True: also what happens from now on, without end. False: what has happened, oldest first, then the end. */
  readonly follow?: boolean | undefined;
  /** Only events of these types. */
  readonly types?: readonly EventType[] | undefined;
}

export interface ProjectEventOptions extends EventOptions {
  /** Another project of the tenant, for keys that manage. */
  readonly project?: string | undefined;
  /** Only of sandboxes with all of these labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

type EventRoute = Extract<RouteName, 'event.list' | 'sandbox.events'>;

/** Reads one page of past events. */
export type EventPage = (
  query: { after?: string; limit: number; project?: string; type?: EventType[]; label?: string[] },
  options: CallOptions,
) => Promise<Page<CaissonEvent>>;

/** The largest page that the API gives: history is read to its end. */
const pageLimit = 200;

/** Past events page by page, or live ones as a stream: one iterator for both. */
export function eventsOf(
  transport: Transport,
  name: EventRoute,
  params: Readonly<Record<string, string>>,
  page: EventPage,
  options: ProjectEventOptions,
): AsyncGenerator<CaissonEvent, void, undefined> {
  const { follow = true, project, types, labels, signal, after } = options;
  const label = labels && Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const query = given({ project, type: types && [...types], label });
  const route: Route = routes[name];
  if (follow) return followLog<CaissonEvent>(transport, route, { params, query }, options);
  const read = (cursor: string | undefined) =>
    page({ limit: pageLimit, ...query, ...(cursor === undefined ? {} : { after: cursor }) }, { signal });
  return eachItem(read, after === undefined ? undefined : String(after));
}
