import { defineConfig } from 'vitest/config';
import { slowness } from './test/slowness.ts';

/** `npm run test:long` runs the soaks and nothing else; `npm test` runs everything else. */
const long = process.env.CAISSON_LONG === '1';

const exclude = ['**/node_modules/**', '**/dist/**', ...(long ? [] : ['**/*.long.test.ts'])];
/** Those of the guest count what their own process holds. */
const alone = 'packages/guest/src/**/*.test.ts';

const shared = { isolate: false, setupFiles: ['test/fresh.ts', 'test/seed.ts'] };

export default defineConfig({
  // Tests read the sources of every package, so that none of them can pass on a stale build.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    // Limits for what never comes, not for what is slow: a machine that is busy takes several times longer.
    testTimeout: long ? 3_600_000 : 60_000 * slowness,
    hookTimeout: 90_000 * slowness,
    expect: { poll: { timeout: 15_000 * slowness } },
    // Most tests wait for something most of the time; more at once would only make them wait for each other.
    maxWorkers: long ? 1 : 2,
    globalSetup: ['test/pools.ts'],
    projects: long
      ? [{ extends: true, test: { name: 'long', include: ['**/*.long.test.ts'], exclude } }]
      : [
          // Tests share a process with others, as parts of a server do: a process for each took longer than they.
          {
            extends: true,
            test: { name: 'parts', include: ['packages/*/src/**/*.test.ts'], exclude: [...exclude, alone], ...shared },
          },
          { extends: true, test: { name: 'whole', include: ['test/**/*.test.ts'], exclude, ...shared } },
          { extends: true, test: { name: 'guest', include: [alone], exclude, setupFiles: ['test/seed.ts'] } },
        ],
  },
});
