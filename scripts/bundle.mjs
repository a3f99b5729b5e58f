// The command and its server as few files: importing some two hundred modules costs more time than starting the server.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Loads its own native addon from beside its package, so it stays there; the other is optional and never installed. */
const external = ['@photostructure/sqlite', 'pg-native'];

export async function bundle(root) {
  const { build } = await import('esbuild');
  const place = join(root, 'packages', 'cli', 'dist', 'bundle');
  const outdir = `${place}.${process.pid}`;
  const { errors } = await build({
    entryPoints: [join(root, 'packages', 'cli', 'src', 'index.ts')],
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    conditions: ['source'],
    external,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    minifySyntax: true,
    minifyWhitespace: true,
    // Packages in the old module format ask for `require`, which a module does not have.
    banner: {
      js: "import { createRequire as caissonRequire } from 'node:module'; const require = caissonRequire(import.meta.url);",
    },
    logLevel: 'error',
  });
  // In one move: a command that starts meanwhile finds the old files or the new ones, not some of each.
  const old = `${outdir}.old`;
  if (existsSync(place)) renameSync(place, old);
  renameSync(outdir, place);
  rmSync(old, { recursive: true, force: true });
  return errors.length === 0;
}
