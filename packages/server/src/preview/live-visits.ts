/** One request or tunnel to a port, for as long as it lasts. */
export interface LiveVisit {
  readonly sandbox: string;
  readonly port: number;
  readonly address: string;
  /** Ends it at once: its port was closed, or the server ends. */
  cut(): void;
  /** Looks whether it has stood still for too long. */
  look(now: number): void;
}

export interface VisitBounds {
  readonly perPort: number;
  readonly perAddress: number;
}

/** A browser opens six connections for a page; a load test fifty. What is more from one place keeps others out. */
export const defaultVisitBounds: VisitBounds = { perPort: 256, perAddress: 128 };

const lookEveryMs = 2_000;

/** Who is visiting which port: bounded, looked after, and ended when the port is closed. */
export class LiveVisits {
  readonly #bounds: VisitBounds;
  readonly #byPort = new Map<string, Set<LiveVisit>>();
  readonly #byAddress = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(bounds: VisitBounds = defaultVisitBounds) {
    this.#bounds = bounds;
  }

  /** False when there are too many already. */
  enter(visit: LiveVisit): boolean {
    const key = keyOf(visit.sandbox, visit.port);
    const there = this.#byPort.get(key);
    const fromThere = this.#byAddress.get(visit.address) ?? 0;
    if ((there?.size ?? 0) >= this.#bounds.perPort || fromThere >= this.#bounds.perAddress) return false;
    if (there) there.add(visit);
    else this.#byPort.set(key, new Set([visit]));
    this.#byAddress.set(visit.address, fromThere + 1);
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
    return true;
  }

  leave(visit: LiveVisit): void {
    const there = this.#byPort.get(keyOf(visit.sandbox, visit.port));
    if (!there?.delete(visit)) return;
    if (there.size === 0) this.#byPort.delete(keyOf(visit.sandbox, visit.port));
    const left = (this.#byAddress.get(visit.address) ?? 1) - 1;
    if (left > 0) this.#byAddress.set(visit.address, left);
    else this.#byAddress.delete(visit.address);
  }

  cut(sandbox: string, port: number): void {
    for (const visit of [...(this.#byPort.get(keyOf(sandbox, port)) ?? [])]) visit.cut();
  }

  cutAll(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const visits of [...this.#byPort.values()]) for (const visit of [...visits]) visit.cut();
  }

  get count(): number {
    let count = 0;
    for (const visits of this.#byPort.values()) count += visits.size;
    return count;
  }

  #look(): void {
    const now = performance.now();
    for (const visits of [...this.#byPort.values()]) for (const visit of [...visits]) visit.look(now);
    if (this.#byPort.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function keyOf(sandbox: string, port: number): string {
  return `${sandbox}:${port}`;
}
