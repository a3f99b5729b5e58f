import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { vi } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { slowness } from '../slowness.ts';
import type { BuildWorld } from './build-world.ts';
import { bundleWorker } from './bundle-worker.ts';
import { openBuildWorld } from './open-build-world.ts';

/** A world whose builds run in processes that can be killed. */
export class BuildKills {
  readonly world: BuildWorld;
  readonly #worker = bundleWorker('build-worker.ts');

  constructor(world: BuildWorld) {
    this.world = world;
  }

  static async open(): Promise<BuildKills> {
    return new BuildKills(await openBuildWorld({ start: false }));
  }

  start(steps: readonly string[]): ChildProcess & { lines: AsyncIterable<string> } {
    const args = [this.#worker.program, this.world.folder, JSON.stringify(this.world.base), ...steps];
    const env = { ...process.env, CAISSON_GUEST_PROGRAM: buildGuest({ quiet: true }) };
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
    return Object.assign(child, { lines: createInterface({ input: child.stdout }) as AsyncIterable<string> });
  }

  /** Everything that is left of a build goes by itself when the next server looks. */
  async settled({ atOnce = false } = {}): Promise<void> {
    const isClean = async () => {
      await this.world.control.reconciler.pass({ atOnce });
      return this.world.remains().length === 0;
    };
    await vi.waitUntil(isClean, { timeout: 15_000 * slowness, interval: 50 }).catch((error) => {
      throw new Error(`what is left of builds stays: ${this.world.remains().join(', ')}`, { cause: error });
    });
  }

  async close(): Promise<void> {
    rmSync(this.#worker.folder, { recursive: true, force: true });
    await this.world.close();
  }
}
