import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { buildGuest } from '../../packages/guest/build.mjs';

const sources = join(import.meta.dirname, '../../packages/server/src/images');

/** A process of its own with images, a shelf and `collect` at hand, to be killed at any moment. */
export function bundleProcess(scratch: string, folder: string, text: string): () => ChildProcess {
  const entry = join(scratch, 'entry.ts');
  const [images, shelf, collect, reference] = ['images', 'shelf', 'collect', 'reference'].map((name) =>
    JSON.stringify(join(sources, `${name}.ts`)),
  );
  const options = { folder, guestProgram: buildGuest({ quiet: true }) };
  writeFileSync(
    entry,
    `import { Images } from ${images};
     import { Shelf } from ${shelf};
     import { collect } from ${collect};
     import { parseReference } from ${reference};
     const images = new Images(${JSON.stringify(options)});
     const shelf = new Shelf(images);
     const { signal } = new AbortController();
     await images.recover(signal);
     ${text}`,
  );
  const bundle = join(scratch, 'process.mjs');
  buildSync({
    entryPoints: [entry],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['source'],
    nodePaths: [join(import.meta.dirname, '../../node_modules')],
    logLevel: 'error',
  });
  return () => spawn(process.execPath, [bundle], { stdio: ['ignore', 'pipe', 'inherit'] });
}
