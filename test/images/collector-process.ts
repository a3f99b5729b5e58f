import type { ChildProcess } from 'node:child_process';
import { bundleProcess } from './bundled-process.ts';

/** Resolves images and collects them again, over and over, and says a line for each round. */
export function buildCollector(scratch: string, folder: string, references: readonly string[]): () => ChildProcess {
  return bundleProcess(
    scratch,
    folder,
    `const roots = async () => ({ images: new Set(), layers: new Set() });
     const limits = { graceMs: 0, unusedMs: 0, unusedBytes: 0 };
     for (;;) {
       for (const reference of ${JSON.stringify(references)})
         await images.resolve({ family: 'image', mode: 'require', reference }, { signal });
       await new Promise((done) => setTimeout(done, 2));
       const { layers } = await collect(shelf, roots, limits, signal);
       console.log('round', layers.length);
     }`,
  );
}
