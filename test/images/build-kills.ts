import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildSync } from 'esbuild';
import { vi } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { slowness } from '../slowness.ts';
import type { BuildWorld } from './build-world.ts';
import { openBuildWorld } from './open-build-world.ts';

/** A world whose builds run in processes that can be killed. */
export class BuildKills {
  readonly world: BuildWorld;
  /** Where packages are found that cannot be bundled. */
  readonly #cache = join(import.meta.dirname, '../../.cache', `build-worker-${process.pid}`);

  constructor(world: BuildWorld) {
    this.world = world;
    mkdirSync(this.#cache, { recursive: true });
    buildSync({
      entryPoints: [join(import.meta.dirname, 'build-worker.ts')],
      outfile: join(this.#cache, 'worker.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      conditions: ['source'],
      external: ['@photostructure/sqlite', 'pg-native'],
      banner: {
        js: "import { createRequire as requireBeside } from 'node:module'; const require = requireBeside(import.meta.url);",
      },
      logLevel: 'error',
    });
  }

  static async open(): Promise<BuildKills> {
    return new BuildKills(await openBuildWorld({ start: false }));
  }

  start(steps: readonly string[]): ChildProcess & { lines: AsyncIterable<string> } {
    const args = [join(this.#cache, 'worker.mjs'), this.world.folder, JSON.stringify(this.world.base), ...steps];
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
    rmSync(this.#cache, { recursive: true, force: true });
    await this.world.close();
  }
}
