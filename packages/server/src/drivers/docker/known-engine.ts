import { CaissonError, hasCode, type SupportFailure, type WorkspaceBlueprint } from '@caisson/contract';
import type { Probe, ProbePart } from '../driver.ts';
import { DiskLimit } from './disk-limit.ts';
import type { Engine } from './engine.ts';
import { type EngineFacts, readFacts, whyUnfit } from './engine-facts.ts';
import type { EngineKind } from './engine-kind.ts';

/** What the engine can do, as far as it is known: it may be away, and come back. */
export class KnownEngine {
  readonly #engine: Engine;
  readonly #kind: EngineKind;
  readonly disk = new DiskLimit();
  #facts: EngineFacts | undefined;
  #whyUnknown = 'nobody has asked it yet';

  constructor(engine: Engine, kind: EngineKind) {
    this.#engine = engine;
    this.#kind = kind;
  }

  /** Whether it limits the disk of a container. */
  get limitsDisk(): boolean {
    return this.#facts !== undefined && this.disk.holds(this.#facts);
  }

  async learn(signal: AbortSignal): Promise<EngineFacts> {
    try {
      this.#facts = await readFacts(this.#engine, this.#kind, signal);
      return this.#facts;
    } catch (error) {
      this.#whyUnknown = (error as Error).message;
      throw error;
    }
  }

  /** What it can do, or the error that nothing of ours runs there. */
  async fit(signal: AbortSignal): Promise<EngineFacts> {
    const facts = this.#facts ?? (await this.learn(signal));
    const why = whyUnfit(facts);
    if (why !== undefined) throw new CaissonError('driver_unavailable', why);
    return facts;
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    const { title } = this.#kind;
    try {
      const facts = await this.learn(signal);
      const why = whyUnfit(facts);
      if (why !== undefined) return { usable: false, why, fix: 'Use an engine on a machine like this one.' };
      const { runtimes, version, storageDriver } = facts;
      const detail = `${title} at ${this.#engine.where}, storage ${storageDriver}, runtimes ${runtimes.join(', ') || 'its own'}`;
      return { usable: true, version, detail, parts: runtimes.map((runtime) => this.#partOf(runtime)) };
    } catch (error) {
      return { usable: false, why: (error as Error).message, fix: this.#fixOf(error) };
    }
  }

  #partOf(runtime: string): ProbePart {
    const { name, title } = this.#kind;
    return {
      name: `${name} runtime ${runtime}`,
      usable: true,
      detail: `${title} makes containers under it when asked`,
    };
  }

  /** Where there is none at all it may not even be installed. */
  #fixOf(error: unknown): string {
    const { name, package: debian } = this.#kind;
    const fix = error instanceof CaissonError ? error.hint : `Name its address with --${name}-host.`;
    const isHere = this.#engine.where.startsWith('unix:');
    return isHere && hasCode(error, 'driver_unavailable') ? `${fix} Debian's package of it is ${debian}.` : fix;
  }

  supports({ runtime, target, access }: WorkspaceBlueprint): readonly SupportFailure[] {
    const failures: SupportFailure[] = [];
    const facts = this.#facts;
    const why = facts === undefined ? this.#whyUnknown : whyUnfit(facts);
    if (why !== undefined)
      failures.push({ reason: 'unsupported-runtime-requirement', path: 'target.runtime', message: why });
    else if (runtime.ociRuntime !== 'auto' && !facts?.runtimes.includes(runtime.ociRuntime)) {
      const has = facts?.runtimes.join(', ') || 'none that it names';
      const message = `${this.#kind.title} makes no container under ${runtime.ociRuntime}; it can under ${has}`;
      failures.push({ reason: 'unsupported-runtime-requirement', path: 'runtime.ociRuntime', message });
    }
    if (target.os.family === 'host') {
      const message = 'the programs of the host are not on the engine; name an image or a distribution';
      failures.push({ reason: 'unsupported-os', path: 'target.os', message });
    }
    if (access.ssh.enabled) {
      const message = 'there is no way in by ssh; use `caisson shell`';
      failures.push({ reason: 'unsupported-access-mode', path: 'access.ssh', message });
    }
    return failures;
  }

  /** Where this backend gives less than the blueprint wanted. */
  notices({ runtime }: WorkspaceBlueprint): string[] {
    const { title } = this.#kind;
    const { diskMiB } = runtime.resources;
    const parts: [boolean, string][] = [
      [
        diskMiB !== undefined && !this.limitsDisk,
        `${title} sets no limit to the disk: ${diskMiB} MiB is not enforced.`,
      ],
      [this.#facts?.userNamespace !== true, `${title} gives the sandbox no user ids of its own.`],
    ];
    return parts.flatMap(([holds, notice]) => (holds ? [notice] : []));
  }
}
