import { CaissonError, newId } from '@caisson/contract';
import type { Caisson, SandboxHandle } from '@caisson/sdk';
import { expect } from 'vitest';

/** What was acknowledged of one sandbox. */
interface Known {
  readonly sandbox: SandboxHandle;
  /** What its file says, for certain; null while a change of it is unanswered. */
  file: string | null;
  destroyed: 'no' | 'asked' | 'yes';
  /** Its lease ends soon, and it with it. */
  readonly leased: boolean;
}

interface KeptSnapshot {
  readonly id: string;
  readonly file: string;
}

const living = 3;
const path = '/tmp/file';

/**
 * Does whatever can be done to sandboxes, one thing after the other, while everything around fails. It believes what was
 * acknowledged and nothing else. Every failure is an error with a code, and never one of the server's own making.
 */
export class StormClient {
  readonly known: Known[] = [];
  readonly snapshots: KeptSnapshot[] = [];
  readonly codes = new Map<string, number>();
  acknowledged = 0;
  readonly #specs: readonly Record<string, unknown>[];
  readonly #random: () => number;
  #version = 0;

  constructor(specs: readonly Record<string, unknown>[], random: () => number) {
    this.#specs = specs;
    this.#random = random;
  }

  async work(caisson: () => Caisson, goOn: () => boolean): Promise<void> {
    while (goOn()) {
      try {
        await this.#step(caisson());
        this.acknowledged += 1;
      } catch (error) {
        if (!(error instanceof CaissonError)) throw error;
        this.codes.set(error.code, (this.codes.get(error.code) ?? 0) + 1);
        // Whoever is away needs a moment to come back.
        await new Promise((resolve) => setTimeout(resolve, 20 + this.#random() * 200));
      }
    }
  }

  async #step(caisson: Caisson): Promise<void> {
    const mine = this.known.filter(({ destroyed }) => destroyed === 'no');
    const one = mine[Math.floor(this.#random() * mine.length)];
    const choice = this.#random();
    if (!one || (mine.length < living && choice < 0.3)) return this.#create(caisson);
    if (choice < 0.55) return this.#write(one);
    if (choice < 0.7) return this.#snapshot(one);
    if (choice < 0.8) return this.#standStill(one);
    if (choice < 0.9) return void (await one.sandbox.stats());
    return this.#destroy(one);
  }

  async #create(caisson: Caisson): Promise<void> {
    const spec = this.#specs[Math.floor(this.#random() * this.#specs.length)];
    const leased = this.#random() < 0.2;
    const lease = leased ? { ttlSeconds: 3 } : {};
    const wanted = { spec, waitSeconds: 20, ...lease };
    const sandbox = await caisson.sandboxes.create(wanted, { idempotencyKey: newId('request') });
    this.known.push({ sandbox, file: null, destroyed: 'no', leased });
  }

  async #write(one: Known): Promise<void> {
    this.#version += 1;
    const text = `version ${this.#version}`;
    one.file = null;
    await one.sandbox.files.write(path, text);
    const { exitCode, stdout } = await one.sandbox.exec(`cat ${path}`);
    expect([exitCode, stdout]).toEqual([0, text]);
    one.file = text;
  }

  async #snapshot(one: Known): Promise<void> {
    const { file } = one;
    const { id } = await one.sandbox.snapshot();
    if (file !== null && one.file === file) this.snapshots.push({ id, file });
  }

  async #standStill(one: Known): Promise<void> {
    await one.sandbox.pause();
    await one.sandbox.resume();
  }

  async #destroy(one: Known): Promise<void> {
    one.destroyed = 'asked';
    await one.sandbox.destroy();
    one.destroyed = 'yes';
  }

  /** When the storm is over: everything acknowledged is so. */
  async check(when: string): Promise<void> {
    for (const one of this.known) {
      const { record } = await (await one.sandbox.refresh()).untilSettled();
      const what = `${when}: ${record.id} ${record.state} ${record.reason?.message ?? ''}`;
      if (one.destroyed === 'yes') expect(record.state, what).toBe('destroyed');
      const ended = one.leased ? ['destroyed'] : [];
      if (one.destroyed === 'no') expect(['ready', 'paused', 'failed', ...ended], what).toContain(record.state);
      if (record.state !== 'ready' || one.leased) continue;
      expect((await one.sandbox.exec('echo here')).stdout, what).toBe('here\n');
      if (one.file !== null) expect(await one.sandbox.files.readText(path), what).toBe(one.file);
    }
  }

  /** A snapshot that was acknowledged gives the files that it was taken of, whatever happened to its sandbox. */
  async checkSnapshots(caisson: Caisson, when: string): Promise<number> {
    const some = this.snapshots.slice(-2);
    for (const { id, file } of some) {
      const sandbox = await caisson.snapshots.restore(id);
      expect(await sandbox.files.readText(path), `${when}: ${id}`).toBe(file);
      await sandbox.destroy();
    }
    return some.length;
  }

  /** Codes that tell of a mistake of ours and not of what was done to us. */
  get mistakes(): string[] {
    return [...this.codes.keys()].filter((code) => code === 'internal');
  }
}
