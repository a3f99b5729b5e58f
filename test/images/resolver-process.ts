import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildSync } from 'esbuild';
import { buildGuest } from '../../packages/guest/build.mjs';

const source = join(import.meta.dirname, '../../packages/server/src/images/images.ts');

/** A process of its own that resolves one base, to be killed at the worst moment. Its lines are the progress. */
export function startResolver(
  scratch: string,
  folder: string,
  os: object,
): ChildProcess & { lines: AsyncIterable<string> } {
  const bundle = join(scratch, 'images.mjs');
  buildSync({
    entryPoints: [source],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['source'],
    logLevel: 'error',
  });
  const script = join(scratch, 'resolve.mjs');
  const options = { folder, guestProgram: buildGuest({ quiet: true }) };
  writeFileSync(
    script,
    `import { Images } from './images.mjs';
     const images = new Images(${JSON.stringify(options)});
     await images.resolve(${JSON.stringify(os)}, { signal: new AbortController().signal, progress: console.log });
     console.log('done');`,
  );
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  return Object.assign(child, { lines: createInterface({ input: child.stdout }) as AsyncIterable<string> });
}

/** Processes of the machine that have this text on their command line. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return line.includes(text) ? [line] : [];
      } catch {
        return [];
      }
    });
}

/** Kills it, unless it has ended by itself: nobody is told of that a second time. */
export async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await ended;
}
