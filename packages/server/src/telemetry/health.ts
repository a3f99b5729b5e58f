import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Health, HealthCheck, HealthName, HealthState } from '@caisson/contract';

/** What is looked at, each when somebody asks. A look that fails or takes too long is an answer too. */
export interface HealthSources {
  /** Rejects when the database does not answer. */
  pingDatabase(): Promise<void>;
  /** How full the filesystem of the data folder is, from 0 to 1. */
  diskUsed(): Promise<number>;
  /** How full the place of root filesystems is; undefined where there is none. */
  storageUsed(): Promise<number | undefined>;
  /** How much of the machine's memory is taken, from 0 to 1. */
  memoryUsed(): number;
  /** How many can be used, and how many are left alone because they failed of late. */
  drivers(): Promise<{ readonly usable: number; readonly troubled: number }>;
  /** Seconds since the last pass of the reconciler that went well. */
  reconciledSecondsAgo(): number;
  /** Jobs that were given up, and how long the oldest that is due has waited. */
  jobs(): Promise<{ readonly dead: number; readonly oldestDueSeconds: number }>;
}

interface Threshold {
  readonly unit: HealthCheck['unit'];
  readonly warn: number;
  readonly critical: number;
}

/** From where on something is `degraded`, and from where on `critical`. Each has a page in docs/runbooks. */
export const healthThresholds: Readonly<Record<HealthName, Threshold>> = {
  database: { unit: 'ms', warn: 100, critical: 2_000 },
  'event-loop': { unit: 'ms', warn: 100, critical: 1_000 },
  disk: { unit: 'share', warn: 0.85, critical: 0.95 },
  storage: { unit: 'share', warn: 0.85, critical: 0.95 },
  memory: { unit: 'share', warn: 0.9, critical: 0.97 },
  drivers: { unit: 'count', warn: 1, critical: Number.POSITIVE_INFINITY },
  reconciler: { unit: 's', warn: 30, critical: 120 },
  'dead-jobs': { unit: 'count', warn: 1, critical: 100 },
  'waiting-jobs': { unit: 's', warn: 60, critical: 600 },
};

const lookMs = 3_000;
/** Trying a runtime out takes longer; it is done once in a while. */
const probeMs = 30_000;
const worst: readonly HealthState[] = ['ok', 'degraded', 'critical'];

/** How the server does, with what it was judged by. */
export class HealthWatch {
  readonly #sources: HealthSources;
  readonly #lag: IntervalHistogram = monitorEventLoopDelay({ resolution: 20 });
  readonly #forget: NodeJS.Timeout;

  constructor(sources: HealthSources) {
    this.#sources = sources;
    this.#lag.enable();
    // What was a minute ago is over.
    this.#forget = setInterval(() => this.#lag.reset(), 60_000).unref();
  }

  close(): void {
    clearInterval(this.#forget);
    this.#lag.disable();
  }

  async look(): Promise<Health> {
    const sources = this.#sources;
    const began = performance.now();
    const checks = await Promise.all([
      check('database', async () => {
        await sources.pingDatabase();
        return performance.now() - began;
      }),
      check('event-loop', async () => Math.max(0, this.#lag.percentile(99) / 1e6 - 20)),
      check('disk', () => sources.diskUsed()),
      check('storage', () => sources.storageUsed()),
      check('memory', async () => sources.memoryUsed()),
      this.#drivers(),
      check('reconciler', async () => sources.reconciledSecondsAgo()),
      check('dead-jobs', async () => (await sources.jobs()).dead),
      check('waiting-jobs', async () => (await sources.jobs()).oldestDueSeconds),
    ]);
    const present = checks.filter((one): one is HealthCheck => one !== undefined);
    return { state: worstOf(present), checks: present };
  }

  /** One that is left alone is to be looked at; none that can be used is the end of everything. */
  async #drivers(): Promise<HealthCheck | undefined> {
    let usable = 0;
    const found = await check(
      'drivers',
      async () => {
        const drivers = await this.#sources.drivers();
        usable = drivers.usable;
        return drivers.troubled;
      },
      probeMs,
    );
    return found && usable === 0
      ? { ...found, state: 'critical', reason: found.reason ?? 'no driver can be used' }
      : found;
  }
}

export function worstOf(checks: readonly { readonly state: HealthState }[]): HealthState {
  return worst[Math.max(0, ...checks.map(({ state }) => worst.indexOf(state)))] ?? 'ok';
}

async function check(
  name: HealthName,
  look: () => Promise<number | undefined>,
  withinMs = lookMs,
): Promise<HealthCheck | undefined> {
  const { unit } = healthThresholds[name];
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`there was no answer within ${withinMs / 1000} s`)), withinMs).unref();
  });
  try {
    const value = await Promise.race([look(), late]);
    return value === undefined ? undefined : judge(name, value);
  } catch (error) {
    return { name, state: 'critical', unit, value: null, reason: (error as Error).message, ...limits(name) };
  }
}

export function judge(name: HealthName, value: number): HealthCheck {
  const { unit, warn, critical } = healthThresholds[name];
  const state = value >= critical ? 'critical' : value >= warn ? 'degraded' : 'ok';
  const limit = state === 'critical' ? critical : warn;
  const reason = state === 'ok' ? null : `${text(value, unit)}, and it should be below ${text(limit, unit)}`;
  return { name, state, unit, value: Math.round(value * 1000) / 1000, reason, ...limits(name) };
}

function limits(name: HealthName): Pick<HealthCheck, 'warn' | 'critical' | 'runbook'> {
  const { warn, critical } = healthThresholds[name];
  return { warn, critical: Number.isFinite(critical) ? critical : null, runbook: `docs/runbooks/${name}.md` };
}

function text(value: number, unit: HealthCheck['unit']): string {
  if (unit === 'share') return `${(value * 100).toFixed(0)} %`;
  return unit === 'count' ? String(value) : `${value.toFixed(0)} ${unit}`;
}
