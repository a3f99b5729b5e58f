import type { Backend, PriceTable, RouteDecision, RouteStrategy, WorkspaceBlueprint } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import type { BackendHealth } from './backend-health.ts';
import { type Candidate, isBackend } from './candidate.ts';
import { decide, type Wishes } from './decide.ts';
import type { HostRoom, Room } from './host-room.ts';
import { type PricedSize, priceOf, selfHostedDrivers } from './prices.ts';
import { shortcomings, type WantedPolicy } from './shortcomings.ts';

export interface RouteRequest extends Omit<Wishes, 'strategy' | 'driver'> {
  readonly blueprint: WorkspaceBlueprint;
  readonly policy: WantedPolicy;
  /** Whose it is: who failed on a backend leaves it alone for a while. */
  readonly tenant: string;
  /** What is paid for, where a backend has a price. */
  readonly size: PricedSize;
  readonly strategy?: RouteStrategy | undefined;
}

export interface PlacedDriver {
  readonly driver: Driver;
  readonly host: string;
}

export interface RouterParts {
  /** In order of preference. */
  readonly backends: readonly PlacedDriver[];
  readonly health: BackendHealth;
  readonly prices: PriceTable;
  readonly room: HostRoom;
  /** The host that `room` is about. */
  readonly here: string;
}

/** When it is decided, and what is known of that moment. */
export interface Moment {
  readonly room?: Room;
  readonly now?: number;
  /** It is for later: that a backend is left alone just now does not matter. */
  readonly isLater?: boolean;
}

/** Machines of one's own first, in the order in which drivers are offered. */
const usualStrategy: RouteStrategy = 'prefer-self-hosted';

const nothingYet = { decisions: new Map(), launches: { succeeded: 0, failed: 0 }, failovers: 0 };

/** Gathers what is known of each backend, and decides. */
export class Router {
  readonly #parts: RouterParts;

  constructor(parts: RouterParts) {
    this.#parts = parts;
  }

  get backends(): readonly PlacedDriver[] {
    return this.#parts.backends;
  }

  get health(): BackendHealth {
    return this.#parts.health;
  }

  get prices(): PriceTable {
    return this.#parts.prices;
  }

  /** How routes were decided since the start, and how each backend does. */
  numbers() {
    const { health, backends } = this.#parts;
    const counted = health.counts.list();
    const all = backends.map(({ driver, host }) => {
      const backend = { driver: driver.name, host };
      const { decisions, launches, failovers } = counted.find((one) => isBackend(one, backend)) ?? nothingYet;
      return { ...backend, circuit: health.state(backend), decisions, launches, failovers };
    });
    return { unserved: health.counts.unserved, backends: all };
  }

  look(): Promise<Room> {
    return this.#parts.room.look();
  }

  /** Without `room` it is not asked whether anything more fits: what was made ahead has its place already. */
  decide(request: RouteRequest, moment: Moment = {}): RouteDecision {
    const { runtime } = request.blueprint.target;
    const candidates = this.#parts.backends.map((backend, order) => this.#candidate(backend, order, request, moment));
    const driver = runtime.name === 'auto' ? undefined : runtime;
    return decide(candidates, { ...request, strategy: request.strategy ?? usualStrategy, driver }, this.prices.asOf);
  }

  /** The driver of a backend that a decision named. */
  driverOf(wanted: Backend): Driver | undefined {
    const named = { driver: wanted.driver, host: wanted.host };
    return this.#parts.backends.find(({ driver, host }) => isBackend({ driver: driver.name, host }, named))?.driver;
  }

  #candidate(placed: PlacedDriver, order: number, request: RouteRequest, moment: Moment): Candidate {
    const { driver, host } = placed;
    const { room = {}, now = Date.now(), isLater = false } = moment;
    const backend = { driver: driver.name, host };
    const { rejections, unmet } = shortcomings(driver, request.blueprint, request.policy);
    const { health, prices, here } = this.#parts;
    const rest = isLater ? undefined : health.whyResting(backend, request.tenant, now);
    const isHere = host === here;
    const lacking = [
      ...(isHere && room.memory ? [room.memory] : []),
      ...(isHere && room.storage && driver.capabilities.storage === 'ours' ? [room.storage] : []),
    ];
    return {
      ...backend,
      order,
      selfHosted: selfHostedDrivers.includes(driver.name),
      pricePerHourMicros: priceOf(prices, backend, request.size),
      latencyMs: health.latencyMs(backend, now),
      rejections: [
        ...rejections,
        ...(rest === undefined ? [] : [{ code: 'circuit_open', path: null, message: rest } as const]),
        ...lacking,
      ],
      unmet,
    };
  }
}
