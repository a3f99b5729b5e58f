import { execFileSync } from 'node:child_process';
import { lstatSync, opendirSync } from 'node:fs';
import { join } from 'node:path';
import { Images, Shelf } from '@caisson/server';
import { writeLayout } from '../test/images/layout-writer.ts';
import { type RealRegistry, startRegistry } from '../test/images/real-registry.ts';
import { guestProgram } from './guest.ts';
import { type Benchmark, median, type Report } from './report.ts';
import { inTemporaryFolder } from './temporary.ts';

const rounds = 5;
const layerCount = 4;
/** Together 200 MB before they are compressed. */
const layerBytes = 50_000_000;
const never = new AbortController().signal;

/** Images to and from a registry on this machine: Debian's, on the disk that everything else is on. */
export const registryBenchmark: Benchmark = {
  name: 'registry',
  async run(report) {
    const why = whyNot();
    if (why !== undefined) return console.error(`bench: registry is left out: ${why}`);
    await inTemporaryFolder(async (folder) => {
      const registry = await startRegistry(folder);
      try {
        const layers = Array.from({ length: layerCount }, (_, n) => ({ tar: layerOf(n) }));
        const images = new Images({ folder: join(folder, 'images'), guestProgram: guestProgram() });
        const layout = writeLayout(join(folder, 'layout'), layers);
        const { digest } = await images.resolve(osOf(layout), { signal: never });
        const publish: Publish = (host, form) => {
          const target = images.access.reference(`${host}/bench:${form}`);
          return new Shelf(images).publish(digest, target, {}, { form, signal: never, progress: () => {} });
        };
        await publish(registry.host, 'gzip');
        await measurePull(report, registry, folder);
        await publish(registry.host, 'tar');
        await measurePush(report, publish, folder);
      } finally {
        await registry.stop();
      }
    });
  },
};

type Publish = (host: string, form: 'gzip' | 'tar') => Promise<{ readonly sentBytes: number }>;

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'layers are unpacked by root';
  try {
    for (const program of ['docker-registry', 'skopeo', 'umoci']) execFileSync(program, ['--version']);
    return undefined;
  } catch (error) {
    return (error as Error).message.split('\n')[0];
  }
}

/** Ours and the others take turns: whatever else the machine does falls on both. */
async function measurePull(report: Report, { host }: RealRegistry, folder: string): Promise<void> {
  const reference = `${host}/bench:gzip`;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let n = 0; n < rounds; n += 1) {
    const room = join(folder, `pull-${n}`);
    execFileSync('mkdir', ['-p', room]);
    let began = performance.now();
    await new Images({ folder: join(room, 'images'), guestProgram: guestProgram() }).resolve(osOf(reference), {
      signal: never,
    });
    ours.push(performance.now() - began);
    began = performance.now();
    const layout = `${join(room, 'layout')}:one`;
    const options = ['--insecure-policy', 'copy', '--quiet', '--src-tls-verify=false'];
    execFileSync('skopeo', [...options, `docker://${reference}`, `oci:${layout}`], { stdio: 'ignore' });
    execFileSync('umoci', ['unpack', '--image', layout, join(room, 'bundle')], { stdio: 'ignore' });
    theirs.push(performance.now() - began);
    execFileSync('rm', ['-rf', room]);
  }
  report.metric('pull.ms', median(ours));
  report.metric('skopeo_umoci.ms', median(theirs));
  report.ratio('pull_to_skopeo_umoci', 'pull.ms', 'skopeo_umoci.ms');
}

/** What is stored is packed already, and each time it goes to a registry that has nothing of it. */
async function measurePush(report: Report, publish: Publish, folder: string): Promise<void> {
  const [rates, again]: [number[], number[]] = [[], []];
  for (let n = 0; n < rounds; n += 1) {
    const room = join(folder, `push-${n}`);
    execFileSync('mkdir', ['-p', room]);
    const empty = await startRegistry(room);
    try {
      let began = performance.now();
      const { sentBytes } = await publish(empty.host, 'tar');
      rates.push(sentBytes / 1e6 / ((performance.now() - began) / 1000));
      began = performance.now();
      await publish(empty.host, 'tar');
      again.push(performance.now() - began);
    } finally {
      await empty.stop();
      execFileSync('rm', ['-rf', room]);
    }
  }
  report.metric('registry.push_mb_s', median(rates));
  report.metric('registry.repush_ms', median(again));
}

function osOf(reference: string) {
  return { family: 'image', mode: 'require', reference } as const;
}

/** Programs and libraries of this machine, other ones in each layer: what images are made of. */
function layerOf(n: number): Buffer {
  let bytes = 0;
  let index = 0;
  const names: string[] = [];
  for (const name of filesBelow('/usr', ['bin', 'lib', 'share'])) {
    if (index++ % layerCount !== n) continue;
    names.push(name);
    bytes += lstatSync(join('/usr', name)).size;
    if (bytes >= layerBytes) break;
  }
  const input = names.join('\0');
  return execFileSync('tar', ['-C', '/usr', '--null', '-T', '-', '-cf', '-'], { input, maxBuffer: 2 * layerBytes });
}

function* filesBelow(root: string, folders: readonly string[]): Generator<string> {
  for (const folder of folders) {
    const directory = opendirSync(join(root, folder));
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        const name = join(folder, entry.name);
        if (entry.isDirectory()) yield* filesBelow(root, [name]);
        else if (entry.isFile() && lstatSync(join(root, name)).size < 20_000_000) yield name;
      }
    } finally {
      directory.closeSync();
    }
  }
}
