import { cpus, release, totalmem } from 'node:os';

/** What one run found: numbers by name, ratios between numbers of the same run, and the machine it ran on. */
export class Report {
  readonly metrics: Record<string, number> = {};
  readonly ratios: Record<string, number> = {};

  /** Three significant digits: what a second run on the same machine would not repeat is noise. */
  metric(name: string, value: number): void {
    this.metrics[name] = Number(value.toPrecision(3));
  }

  /** Only numbers of one run are compared: another run is another weather. */
  ratio(name: string, of: string, to: string): void {
    const [a, b] = [this.metrics[of], this.metrics[to]];
    if (a !== undefined && b !== undefined && b !== 0) this.ratios[name] = Number((a / b).toPrecision(3));
  }

  toJSON() {
    return { metrics: this.metrics, ratios: this.ratios, machine: machine() };
  }
}

export interface BenchmarkOptions {
  /** Also a thousand sandboxes at once. */
  readonly thousand: boolean;
}

export interface Benchmark {
  readonly name: string;
  run(report: Report, options: BenchmarkOptions): Promise<void>;
}

function machine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryMiB: Math.round(totalmem() / 1_048_576),
    kernel: release(),
    node: process.versions.node,
    arch: process.arch,
  };
}

/** Calls per second of a synchronous function: warmed up, then the median of rounds of about a quarter of a second. */
export function perSecond(work: () => unknown, rounds = 7): number {
  const roundMs = 250;
  runFor(roundMs, work);
  return median(Array.from({ length: rounds }, () => runFor(roundMs, work)));
}

function runFor(ms: number, work: () => unknown): number {
  const began = performance.now();
  let calls = 0;
  let elapsed = 0;
  do {
    for (let n = 0; n < 100; n += 1) work();
    calls += 100;
    elapsed = performance.now() - began;
  } while (elapsed < ms);
  return (calls / elapsed) * 1000;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], rank: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil((rank / 100) * sorted.length) - 1));
  return sorted[index] ?? Number.NaN;
}

/** How long each of some calls took in milliseconds, one after the other. */
export async function timesOf(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const began = performance.now();
    await work();
    found.push(performance.now() - began);
  }
  return found;
}

/** Megabytes (10^6) per second, the median of some runs. */
export async function rateOf(rounds: number, work: () => Promise<number>): Promise<number> {
  const found: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const began = performance.now();
    const bytes = await work();
    found.push(bytes / 1e6 / ((performance.now() - began) / 1000));
  }
  return median(found);
}
