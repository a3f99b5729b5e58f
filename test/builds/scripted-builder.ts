import type { Build, BuildLogItem } from '@caisson/contract';
import { CaissonError, networkRulesOf, newId } from '@caisson/contract';
import {
  normalizeUserWorkspaceSpec,
  type ResolvedImagePlan,
  type WorkspaceBlueprint,
} from '@caisson/workspace-composition';
import { planDigest } from '@caisson/workspace-composition/digest';
import type { Builder, BuildRequest, BuiltImage } from '../../packages/server/src/images/builders/builder.ts';
import type { Store } from '../../packages/server/src/store/store.ts';

/** What the builder does when it is asked: answers a digest, throws, or waits for its signal. */
export type Script = (request: BuildRequest, call: number) => Promise<string>;

/** A builder that does what a test says, and builds nothing. */
export class ScriptedBuilder implements Builder {
  readonly name = 'native' as const;
  readonly requests: BuildRequest[] = [];
  script: Script;

  constructor(script: Script = async () => digestOf('a')) {
    this.script = script;
  }

  async probe(): Promise<undefined> {
    return undefined;
  }

  async build(request: BuildRequest): Promise<BuiltImage> {
    this.requests.push(request);
    const digest = await this.script(request, this.requests.length);
    return { digest, name: 'scripted', layers: [], config: { env: {} }, notices: [], billOfMaterials: null };
  }
}

export function digestOf(letter: string): string {
  return `sha256:${letter.repeat(64)}`;
}

/** Waits until it is told to stop, and says then why. */
export function untilStopped({ signal }: BuildRequest): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
}

export function failing(exitCode = 3): CaissonError {
  return new CaissonError('build_failed', 'the step setup-1 ended with exit code 3', {
    context: { step: 'setup-1', command: 'false', exitCode, lastLines: ['one', 'two'] },
  });
}

export const blueprint: WorkspaceBlueprint = normalizeUserWorkspaceSpec({
  source: { kind: 'none' },
  os: 'debian',
  setup: 'true',
});

/** A plan like no other. */
export function newPlan(change: Partial<ResolvedImagePlan> = {}): { plan: ResolvedImagePlan; planDigest: string } {
  const plan: ResolvedImagePlan = {
    version: '1',
    platform: { os: 'linux', architecture: 'amd64' },
    os: { family: 'debian', release: 'bookworm' },
    base: { kind: 'rootfs-archive', reference: 'debian:bookworm', digest: digestOf('b') },
    packages: [],
    users: [],
    env: {},
    steps: [{ id: 'one', run: `echo ${newId('request')}`, shell: 'sh', workingDirectory: '/', user: 'root' }],
    inputs: [],
    labels: {},
    ...change,
  };
  return { plan, planDigest: planDigest(plan) };
}

export const rules = networkRulesOf(blueprint.runtime.network);

/** The build as soon as it is what is waited for. */
export async function buildThat(
  store: Store,
  id: string,
  fits: (build: Build) => boolean,
  withinMs = 20_000,
): Promise<Build> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const build = await store.builds.get(id);
    if (build && fits(build)) return build;
    if (Date.now() > deadline) throw new Error(`the build stays ${JSON.stringify(build)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function logOf(store: Store, id: string): Promise<BuildLogItem[]> {
  return store.buildLog.list(id, 0, 10_000);
}
