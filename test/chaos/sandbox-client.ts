import { hasCode, type Id, newId, type Sandbox } from '@caisson/contract';
import type { Caisson, SandboxHandle } from '@caisson/sdk';
import { expect } from 'vitest';
import { countedSoFar, countingCommand } from './counter.ts';
import { type SandboxWorld, spec } from './sandbox-world.ts';

/** What the client knows for certain about one of its sandboxes, and what it asked without learning the answer. */
interface Known {
  readonly sandbox: SandboxHandle;
  readonly counter: Id<'process'>;
  counted: number;
  /** Lines that were written for certain, and lines that may have been. */
  linesWritten: number;
  linesAsked: number;
  /** What the file may hold: one version, or also another one that was being uploaded. */
  file: string[];
  destroyAsked: boolean;
}

const runtimes = ['auto', 'runc', 'crun'];
const living = 3;
/** Several messages and several pieces of a file. */
const fileBytes = 400_000;

/** Makes sandboxes, runs commands in them, uploads files and destroys them, and believes only what was acknowledged. */
export class SandboxClient {
  readonly known: Known[] = [];
  acknowledged = 0;
  readonly #world: SandboxWorld;
  readonly #random: () => number;
  #unanswered: { readonly key: string; readonly runtime: string } | null = null;
  #version = 0;

  constructor(world: SandboxWorld, random: () => number) {
    this.#world = world;
    this.#random = random;
  }

  /** Works until the server goes away under it, or until told. */
  async work(caisson: Caisson, goOn: () => boolean): Promise<void> {
    try {
      while (goOn()) await this.#step(caisson);
    } catch (error) {
      if (!hasCode(error, 'server_unreachable')) throw error;
    }
  }

  /** After a restart: what was acknowledged is there, what was asked is done or not done, and nothing is in between. */
  async check(caisson: Caisson, when: string): Promise<void> {
    if (this.#unanswered !== null) await this.#create(caisson);
    await Promise.all([...this.known].map((one) => this.#checkOne(one, when)));
  }

  /** Only that all of them answer. */
  async answered(): Promise<void> {
    const running = this.known.filter(({ destroyAsked }) => !destroyAsked);
    const results = await Promise.all(running.map(({ sandbox }) => sandbox.exec('echo here')));
    for (const { stdout } of results) expect(stdout).toBe('here\n');
  }

  async #step(caisson: Caisson): Promise<void> {
    const one = this.known[Math.floor(this.#random() * this.known.length)];
    const choice = this.#random();
    if (this.#unanswered !== null || !one || (this.known.length < living && choice < 0.4)) await this.#create(caisson);
    else if (choice < 0.6) await this.#exec(one);
    else if (choice < 0.8) await this.#upload(one);
    else await this.#destroy(one);
    this.acknowledged += 1;
  }

  async #create(caisson: Caisson): Promise<void> {
    const pick = runtimes[Math.floor(this.#random() * runtimes.length)] ?? 'auto';
    this.#unanswered ??= { key: newId('request'), runtime: pick };
    const { key, runtime } = this.#unanswered;
    const request = { spec: { ...spec, runtime: { ...spec.runtime, ociRuntime: runtime } }, labels: { request: key } };
    const sandbox = await caisson.sandboxes.create({ ...request, waitSeconds: 30 }, { idempotencyKey: key });
    expect(sandbox.record).toMatchObject({ state: 'ready', reason: null });
    this.#unanswered = null;
    const counter = newId('process');
    const [counted, linesWritten, linesAsked] = [0, 0, 0];
    this.known.push({ sandbox, counter, counted, linesWritten, linesAsked, file: [''], destroyAsked: false });
    await this.#world.note(sandbox);
    await sandbox.processes.start(countingCommand, { process: counter });
  }

  async #exec({ sandbox }: Known): Promise<void> {
    const one = this.#of(sandbox);
    one.linesAsked += 1;
    const { exitCode } = await sandbox.exec('echo line >> /tmp/lines');
    expect(exitCode).toBe(0);
    one.linesWritten += 1;
  }

  async #upload({ sandbox }: Known): Promise<void> {
    const one = this.#of(sandbox);
    this.#version += 1;
    const version = `${this.#version} `.repeat(fileBytes / 2).slice(0, fileBytes);
    one.file = [...one.file, version];
    await sandbox.files.write('/tmp/file', version);
    one.file = [version];
  }

  async #destroy(one: Known): Promise<void> {
    one.destroyAsked = true;
    await one.sandbox.destroy();
    this.#drop(one);
  }

  async #checkOne(one: Known, when: string): Promise<void> {
    const { sandbox, counter } = one;
    const record: Sandbox = (await (await sandbox.refresh()).untilSettled()).record;
    const what = `${when}: ${sandbox.id} ${record.state} ${record.reason?.message ?? ''}`;
    if (one.destroyAsked && record.state === 'destroyed') return this.#drop(one);
    expect(record.state, what).toBe('ready');
    one.destroyAsked = false;
    // Asked again with its own id it is the same process, also when the first answer was lost.
    const process = await sandbox.processes.start(countingCommand, { process: counter });
    const counted = await countedSoFar(process, what);
    expect(counted, what).toBeGreaterThanOrEqual(one.counted);
    const { stdout } = await sandbox.exec('touch /tmp/lines /tmp/file; wc -l < /tmp/lines');
    expect(Number(stdout), what).toBeGreaterThanOrEqual(one.linesWritten);
    expect(Number(stdout), what).toBeLessThanOrEqual(one.linesAsked);
    const file = await sandbox.files.readText('/tmp/file');
    expect(one.file.includes(file), `${what}: the file has ${file.length} bytes`).toBe(true);
    Object.assign(one, { counted, linesWritten: Number(stdout), linesAsked: Number(stdout), file: [file] });
  }

  #of(sandbox: SandboxHandle): Known {
    const one = this.known.find((candidate) => candidate.sandbox === sandbox);
    if (!one) throw new Error(`${sandbox.id} is nobody's`);
    return one;
  }

  #drop(one: Known): void {
    this.known.splice(this.known.indexOf(one), 1);
  }
}
