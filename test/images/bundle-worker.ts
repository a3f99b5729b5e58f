import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildSync } from 'esbuild';

/** One of these files with all of the server in it, as a program that can be started and killed. `folder` goes with it. */
export function bundleWorker(file: string): { readonly folder: string; readonly program: string } {
  const name = basename(file, '.ts');
  // Where packages are found that cannot be bundled.
  const folder = join(import.meta.dirname, '../../.cache', `${name}-${process.pid}`);
  const program = join(folder, 'worker.mjs');
  mkdirSync(folder, { recursive: true });
  buildSync({
    entryPoints: [join(import.meta.dirname, file)],
    outfile: program,
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
  return { folder, program };
}
