import type { Backend, Rejection } from '@caisson/contract';

/** A backend as it is at the moment of a decision, for one request: everything that is weighed, as data. */
export interface Candidate extends Backend {
  /** Its place among those that are installed. */
  readonly order: number;
  readonly selfHosted: boolean;
  readonly pricePerHourMicros: number | null;
  readonly latencyMs: number | null;
  /** What is required and it has not: capabilities, room, trust. */
  readonly rejections: readonly Rejection[];
  /** What is preferred and it has not. */
  readonly unmet: readonly string[];
}

export function isBackend(one: Backend, other: Backend): boolean {
  return one.driver === other.driver && one.host === other.host;
}

export function backendName({ driver, host }: Backend): string {
  return `${driver}@${host}`;
}
