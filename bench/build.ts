import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Builder,
  type BuildRequest,
  type ControlPlane,
  DataFolder,
  Images,
  openControlPlane,
} from '@caisson/server';
import { type ResolvedImagePlan, resolvedImagePlanVersion } from '@caisson/workspace-composition';
import { whyNoDocker, withDocker } from './docker.ts';
import { guestProgram } from './guest.ts';
import { type Benchmark, median, type Report } from './report.ts';
import { whyNoSandboxes } from './sandbox-server.ts';
import { inTemporaryFolder } from './temporary.ts';

const rounds = 3;
const lastRounds = 7;
/** What is installed: some sixty megabytes in two thousand files, with scripts that run at the end. */
const packages = ['git', 'python3', 'jq'];
const owner = { tenant: 'bench', project: 'bench', principal: 'bench' };
const open: BuildRequest['rules'] = { mode: 'open', allow: [], deny: [], limits: {}, secrets: [] };
const never = new AbortController().signal;

/**
 * From a plan to an image: packages that were fetched before and come in as files, so that the network decides nothing, a
 * folder of many small files, a repository of them, and a last line. Full: no step of it was ever done. Last step: only
 * its last line is another one. Every builder is given the same plans, and they take turns.
 */
export const buildBenchmark: Benchmark = {
  name: 'build',
  async run(report) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: build is left out: ${why}`);
    await withEngine((dockerHost) =>
      inTemporaryFolder(async (folder) => {
        const data = join(folder, 'data');
        const base = await makeBase(join(data, 'images'));
        const opened = DataFolder.open(data);
        const control = await openControlPlane(opened, { version: 'bench', drivers: ['oci'], engines: { dockerHost } });
        try {
          const builders = await buildersOf(control);
          const context = join(folder, 'context');
          await prefetch(builders[0] as Builder, base, context);
          await measure(report, builders, base, context);
        } finally {
          await control.close();
          opened.close();
        }
      }),
    );
  },
};

/** BuildKit is that of an engine of our own; without one there is none. */
async function withEngine(work: (host: string) => Promise<void>): Promise<void> {
  const why = whyNoDocker();
  if (why === undefined) return await withDocker((_docker, host) => work(host));
  console.error(`bench: BuildKit is left out: ${why}`);
  await work('unix:///nowhere');
}

/** Those that can be used here. One more of them is one more pair of numbers: `build.<name>.full_ms`, `.last_step_ms`. */
async function buildersOf({ builders }: ControlPlane): Promise<readonly Builder[]> {
  const usable: Builder[] = [];
  for (const builder of builders) {
    const trouble = await builder.probe(AbortSignal.timeout(30_000));
    if (trouble === undefined) usable.push(builder);
    else console.error(`bench: the builder ${builder.name} is left out: ${trouble.why}`);
  }
  return usable;
}

async function makeBase(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const images = new Images({ folder, guestProgram: guestProgram() });
  return (await images.resolve({ family: 'debian', mode: 'require', release: 'bookworm' }, { signal: never })).digest;
}

/** The only part with a network: what `packages` need, as files of the build context. */
async function prefetch(builder: Builder, base: string, context: string): Promise<void> {
  const fetching = [
    'apt-get update -q',
    `apt-get install -q -y --no-install-recommends --download-only ${packages.join(' ')}`,
    'mkdir /fetched && mv /var/cache/apt/archives/*.deb /fetched',
  ].join('\n');
  const { layers } = await build(builder, { ...planOn(base, [fetching]), inputs: [] }, undefined);
  cpSync(join(layers.at(-1) ?? '', 'fetched'), join(context, 'inputs', 'packages'), { recursive: true });
  console.error(`bench: ${readdirSync(join(context, 'inputs', 'packages')).length} packages were fetched`);
}

async function measure(report: Report, builders: readonly Builder[], base: string, context: string): Promise<void> {
  const steps = [
    'apt-get install -q -y --no-install-recommends /packages/*.deb',
    'mkdir files && cd files && seq 5000 | split -l 1 -a 4 -',
    'git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -q -m all && python3 -c "print(1)"',
    'echo settings > settings',
  ];
  const full = new Map<Builder, number[]>(builders.map((builder) => [builder, []]));
  for (let round = 0; round < rounds; round += 1) {
    // With it every step is one that was never done.
    writeFileSync(join(context, 'inputs', 'packages', 'round'), `${round}`);
    const plan = planOn(base, steps, round);
    for (const builder of builders) full.get(builder)?.push(await timed(builder, plan, context));
  }
  for (const builder of builders) {
    const last: number[] = [];
    for (let round = 0; round < lastRounds; round += 1) {
      const changed = [...steps.slice(0, -1), `echo settings ${round} > settings`];
      last.push(await timed(builder, planOn(base, changed, rounds - 1), context));
    }
    report.metric(`build.${builder.name}.full_ms`, median(full.get(builder) ?? []));
    report.metric(`build.${builder.name}.last_step_ms`, median(last));
    report.ratio(
      `build.${builder.name}.last_step_to_full`,
      `build.${builder.name}.last_step_ms`,
      `build.${builder.name}.full_ms`,
    );
  }
  report.ratio('build.native_to_buildkit', 'build.native.full_ms', 'build.buildkit.full_ms');
}

async function timed(builder: Builder, plan: ResolvedImagePlan, context: string): Promise<number> {
  const began = performance.now();
  await build(builder, plan, context);
  return performance.now() - began;
}

async function build(builder: Builder, plan: ResolvedImagePlan, context: string | undefined) {
  const tell: BuildRequest['tell'] = (event) => {
    if (process.env.BENCH_VERBOSE && event.kind === 'step-ended') console.error(`bench: ${builder.name}`, event);
  };
  return await builder.build({ plan, owner, context, rules: open, signal: never, tell });
}

/** `content` stands for what is in the build context: a plan names that by a digest. */
function planOn(base: string, setup: readonly string[], content = 0): ResolvedImagePlan {
  const digest = `sha256:${String(content).padStart(64, '0')}`;
  return {
    version: resolvedImagePlanVersion,
    platform: { os: 'linux', architecture: process.arch === 'arm64' ? 'arm64' : 'amd64' },
    os: { family: 'debian', release: 'bookworm' },
    base: { kind: 'rootfs-archive', reference: 'debian:bookworm', digest: base },
    packages: [],
    users: [],
    env: {},
    steps: setup.map((run, index) => ({
      ...{ id: `s${index}`, shell: 'sh' as const, user: 'root' },
      ...{ workingDirectory: '/workspace', run },
    })),
    inputs: [{ id: 'packages', purpose: 'config', kind: 'folder', mountPath: '/packages', digest }],
    labels: {},
  };
}
