import type { Profile } from '@caisson/contract';

const hour = 3_600;
const day = 24 * hour;

/** Nothing but a name for nothing: what others can be compared with. */
export const blankProfile: Profile = {
  name: 'blank',
  version: 1,
  description: 'An empty workspace: nothing is cloned and nothing is installed.',
  sourceRequired: false,
};

/** What a create without a spec and without a profile means. */
export const canaryProfile: Profile = {
  name: 'sandbox-canary',
  version: 1,
  description: 'An empty workspace that looks at itself before it is ready, and tells what it found.',
  sourceRequired: false,
  selfCheck: true,
};

const repo = { type: 'string', description: 'git URL of the repository to work on' } as const;

/** Those that come with Caisson. Like every profile they never change: what is to be better is a new version. */
export const shippedProfiles: readonly Profile[] = [
  blankProfile,
  canaryProfile,
  {
    name: 'agent-dev',
    version: 1,
    description: 'A place for a coding agent: its files stay, and it stands still while nobody uses it.',
    inputs: {
      repo,
      harness: {
        type: 'string',
        description: 'the agent that works there',
        choices: ['none', 'claude-code', 'codex', 'opencode'],
        default: 'none',
      },
    },
    spec: {
      repo: '${inputs.repo}',
      harness: '${inputs.harness}',
      packages: ['git', 'ripgrep', 'jq'],
      runtime: { persistence: 'persistent' },
    },
    sourceRequired: false,
    lease: { ttlSeconds: 8 * hour, maxTtlSeconds: 7 * day, atExpiry: 'stop' },
    resources: { memoryMiB: 4_096, diskMiB: 20_480, pids: 2_048 },
    snapshots: { keepTurns: 200 },
    autoPauseSeconds: hour / 2,
    autoResume: true,
  },
  {
    name: 'build',
    version: 1,
    description: 'A large place for a short time: compilers and their tools, where sandboxes start quickest.',
    inputs: { repo },
    spec: { repo: '${inputs.repo}', packages: ['git', 'build-essential', 'pkg-config'] },
    sourceRequired: false,
    lease: { ttlSeconds: 2 * hour, maxTtlSeconds: day },
    resources: { cpus: 4, memoryMiB: 8_192, diskMiB: 40_960, pids: 4_096 },
    route: { strategy: 'lowest-latency' },
  },
  {
    name: 'ci',
    version: 1,
    description: 'One run of a pipeline, where it costs least.',
    inputs: { repo },
    spec: { repo: '${inputs.repo}', packages: ['git'], env: { CI: 'true' } },
    sourceRequired: false,
    lease: { ttlSeconds: hour, maxTtlSeconds: 6 * hour },
    resources: { cpus: 2, memoryMiB: 4_096, diskMiB: 20_480, pids: 2_048 },
    route: { strategy: 'lowest-cost' },
  },
  {
    name: 'untrusted',
    version: 1,
    description: 'For code that nobody vouches for: a kernel of its own (gVisor), no network, little of everything.',
    spec: { runtime: { ociRuntime: 'runsc' } },
    sourceRequired: false,
    lease: { ttlSeconds: hour, maxTtlSeconds: 4 * hour },
    resources: { cpus: 1, memoryMiB: 1_024, diskMiB: 4_096, pids: 512 },
    network: { mode: 'off' },
    // Others do not know what a runtime is, and would take it for granted.
    route: { strategy: 'explicit', drivers: ['oci', 'docker', 'podman'] },
  },
  {
    name: 'burst-sandbox',
    version: 1,
    description:
      'On a machine of one’s own while there is room, and beyond it where it costs half a credit an hour at most.',
    sourceRequired: false,
    lease: { ttlSeconds: hour, maxTtlSeconds: 12 * hour },
    resources: { cpus: 2, memoryMiB: 2_048, diskMiB: 10_240, pids: 1_024 },
    route: { strategy: 'prefer-self-hosted', maxPricePerHourMicros: 500_000 },
  },
];
