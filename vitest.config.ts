import { defineConfig } from 'vitest/config';
import { slowness } from './test/slowness.ts';

/** `npm run test:long` runs the soaks and nothing else; `npm test` runs everything else. */
const long = process.env.CAISSON_LONG === '1';

export default defineConfig({
  // Tests read the sources of every package, so that none of them can pass on a stale build.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    include: long ? ['**/*.long.test.ts'] : ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', ...(long ? [] : ['**/*.long.test.ts'])],
    testTimeout: long ? 3_600_000 : 20_000 * slowness,
    hookTimeout: 30_000 * slowness,
    expect: { poll: { timeout: 1_000 * slowness } },
    // Most tests wait for something most of the time; more at once would only make them wait for each other.
    maxWorkers: long ? 1 : 2,
    globalSetup: ['test/pools.ts'],
    setupFiles: ['test/seed.ts'],
  },
});
