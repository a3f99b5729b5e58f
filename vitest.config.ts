import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Tests read the sources of every package, so that none of them can pass on a stale build.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/*.long.test.ts'],
    testTimeout: 20_000,
  },
});
