import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { Probe, ProbePart } from '../driver.ts';
import { until } from '../until.ts';
import { cgroupLayout } from './cgroup.ts';
import { automaticRuntimes, type Place, programOf, type RuntimeFinding, tryRuntime } from './find-runtimes.ts';
import { isRuntimeName, knownRuntimes, type RuntimeName, runtimeNames } from './known-runtimes.ts';
import { Runtime } from './runtime.ts';

/** Longer than a runtime that emulates a kernel takes on a machine under load. */
const trialMs = 60_000;

/** The runtimes of this machine: which there are, which work, and which one serves a wish. */
export class Runtimes {
  readonly #place: Place;
  readonly #findings = new Map<RuntimeName, Promise<RuntimeFinding>>();
  /** What `open` found of those that may be taken unasked. */
  #known: readonly RuntimeFinding[] = [];

  constructor(place: Place) {
    this.#place = place;
  }

  async open(signal: AbortSignal): Promise<void> {
    this.#known = await this.#findAll(automaticRuntimes, signal);
  }

  /** Tries all of them, whatever was found before. */
  async probe(signal: AbortSignal): Promise<Probe> {
    this.#findings.clear();
    const found = await this.#findAll(runtimeNames, signal);
    this.#known = found.filter(({ name }) => automaticRuntimes.includes(name));
    const parts = found.map(partOf);
    const best = found.find((one) => one.usable);
    if (!best?.usable) return { usable: false, why: reasons(found), fix: nearestFix(found), parts };
    const detail = `containers by ${best.name} unless another is asked for; control groups ${cgroupLayout()}`;
    return { usable: true, version: best.version, detail, parts };
  }

  /** The one that is wished for, or the best where any will do. */
  async find(wanted: string, signal: AbortSignal): Promise<Runtime> {
    const found = await this.#findAll(isRuntimeName(wanted) ? [wanted] : automaticRuntimes, signal);
    const usable = found.find((one) => one.usable);
    if (usable?.usable) return this.named(usable.name, usable.options);
    throw new CaissonError('driver_unavailable', reasons(found));
  }

  /** The one with which an instance was made, and as it was called then. */
  named(name: string, options: readonly string[]): Runtime {
    const program = isRuntimeName(name) ? programOf(name) : undefined;
    if (!isRuntimeName(name) || !program)
      throw new CaissonError('driver_unavailable', `${name} is not installed any more`);
    const { root, host } = this.#place;
    const layout = cgroupLayout() ?? 'v2';
    return new Runtime({ name, program, state: join(root, 'state', name), layout, options, host });
  }

  /** Why a runtime cannot be had, as far as is known without trying it. */
  whyNot(wanted: string): string | undefined {
    if (wanted === 'auto') {
      if (this.#known.some((one) => one.usable)) return undefined;
      return reasons(this.#known) || 'no runtime was found';
    }
    if (!isRuntimeName(wanted)) return `the runtime ${wanted} is not one that this driver knows`;
    const finding = this.#known.find((one) => one.name === wanted);
    if (finding && !finding.usable) return reasons([finding]);
    return programOf(wanted) ? undefined : `${wanted} is not installed`;
  }

  #findAll(names: readonly RuntimeName[], signal: AbortSignal): Promise<RuntimeFinding[]> {
    return until(signal, Promise.all(names.map((name) => this.#find(name))));
  }

  /** Several may wait for one trial, so it has a time of its own. Only what works is remembered. */
  #find(name: RuntimeName): Promise<RuntimeFinding> {
    const present = this.#findings.get(name);
    if (present) return present;
    const finding = tryRuntime(name, this.#place, AbortSignal.timeout(trialMs));
    this.#findings.set(name, finding);
    finding.then(
      ({ usable }) => usable || this.#findings.delete(name),
      () => this.#findings.delete(name),
    );
    return finding;
  }
}

function reasons(findings: readonly RuntimeFinding[]): string {
  return findings.flatMap((one) => (one.usable ? [] : [`${one.why}: ${one.fix}`])).join('; ');
}

/** One that is installed is nearer to working than one that is not. */
function nearestFix(findings: readonly RuntimeFinding[]): string {
  const nearest = findings.find(({ name }) => programOf(name) !== undefined);
  return nearest && !nearest.usable ? nearest.fix : `apt-get install ${knownRuntimes.runc.package}`;
}

function partOf(finding: RuntimeFinding): ProbePart {
  const { name } = finding;
  if (!finding.usable) return { name: `runtime ${name}`, usable: false, why: finding.why, fix: finding.fix };
  const kernel = knownRuntimes[name].isolation === 'user-kernel' ? 'a kernel of its own' : "the host's kernel";
  return { name: `runtime ${name}`, usable: true, detail: `${finding.version}, tried out; sandboxes have ${kernel}` };
}
