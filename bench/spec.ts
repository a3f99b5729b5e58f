import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { type Benchmark, perSecond } from './report.ts';

/** A spec as a person writes one: every section that most have, none that few have. */
const spec = {
  repo: 'https://github.com/example/project.git',
  harness: { id: 'claude-code', version: '1.0.0' },
  packages: ['git', 'ripgrep', 'node@20', 'python3', { id: 'postgresql-client', version: '15' }, 'jq'],
  setup: ['npm ci', 'npm run build', { run: 'pip install -r requirements.txt', shell: 'bash' }],
  env: { NODE_ENV: 'development', LOG_LEVEL: 'debug', CI: '1', TZ: 'UTC' },
  os: 'debian',
  runtime: {
    resources: { cpus: 2, memoryMiB: 2048, diskMiB: 8192, pids: 512 },
    network: { mode: 'allowlist', allow: ['npm', '*.github.com', '203.0.113.0/24'] },
  },
};

export const specBenchmark: Benchmark = {
  name: 'spec',
  async run(report) {
    report.metric(
      'spec.normalize_per_s',
      perSecond(() => normalizeUserWorkspaceSpec(spec)),
    );
  },
};
