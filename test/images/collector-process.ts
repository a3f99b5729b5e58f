import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { buildGuest } from '../../packages/guest/build.mjs';

const sources = join(import.meta.dirname, '../../packages/server/src/images');

/**
 * A process of its own that resolves images and collects them again, over and over, to be killed at any moment. It says a
 * line for each round.
 */
export function buildCollector(scratch: string, folder: string, references: readonly string[]): () => ChildProcess {
  const entry = join(scratch, 'entry.ts');
  const [images, shelf, collect] = ['images', 'shelf', 'collect'].map((name) =>
    JSON.stringify(join(sources, `${name}.ts`)),
  );
  const options = { folder, guestProgram: buildGuest({ quiet: true }) };
  writeFileSync(
    entry,
    `import { Images } from ${images};
     import { Shelf } from ${shelf};
     import { collect } from ${collect};
     const images = new Images(${JSON.stringify(options)});
     const shelf = new Shelf(images);
     const { signal } = new AbortController();
     await images.recover(signal);
     const roots = async () => ({ images: new Set(), layers: new Set() });
     const limits = { graceMs: 0, unusedMs: 0, unusedBytes: 0 };
     for (;;) {
       for (const reference of ${JSON.stringify(references)})
         await images.resolve({ family: 'image', mode: 'require', reference }, { signal });
       await new Promise((done) => setTimeout(done, 2));
       const { layers } = await collect(shelf, roots, limits, signal);
       console.log('round', layers.length);
     }`,
  );
  const bundle = join(scratch, 'collector.mjs');
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
