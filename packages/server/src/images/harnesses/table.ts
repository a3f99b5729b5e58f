import type { WorkspaceBlueprint } from '@caisson/workspace-composition';
import type { Harness, HarnessVariable } from './harness.ts';

type HarnessId = Exclude<WorkspaceBlueprint['harness']['id'], 'none'>;

const secret = (name: string, means: string): HarnessVariable => ({ name, means, secret: true });
const setting = (name: string, means: string): HarnessVariable => ({ name, means, secret: false });
const proxies = [setting('HTTPS_PROXY', 'the way out; Caisson sets it')];

export const harnesses: Readonly<Record<HarnessId, Harness>> = {
  'claude-code': {
    id: 'claude-code',
    title: 'Claude Code',
    npmPackage: '@anthropic-ai/claude-code',
    defaultVersion: '2.1.325',
    command: 'claude',
    nodeMajor: 22,
    runsOnNode: false,
    libraries: ['glibc', 'musl'],
    launch: [],
    oneShot: ['--print'],
    profileOption: '--agent',
    variables: [
      secret('ANTHROPIC_API_KEY', 'the key of the API'),
      secret('ANTHROPIC_AUTH_TOKEN', 'a bearer token in place of the key'),
      secret('CLAUDE_CODE_OAUTH_TOKEN', 'the token of a subscription'),
      setting('ANTHROPIC_BASE_URL', 'another address of the API'),
      setting('ANTHROPIC_MODEL', 'the model'),
      setting('CLAUDE_CONFIG_DIR', 'where its settings are, in place of ~/.claude'),
      setting('CLAUDE_CODE_USE_BEDROCK', 'the API is that of Amazon'),
      setting('CLAUDE_CODE_USE_VERTEX', 'the API is that of Google'),
      ...proxies,
    ],
    env: { DISABLE_AUTOUPDATER: '1' },
  },
  codex: {
    id: 'codex',
    title: 'Codex',
    npmPackage: '@openai/codex',
    defaultVersion: '0.166.0',
    command: 'codex',
    nodeMajor: 16,
    runsOnNode: true,
    libraries: ['static'],
    launch: [],
    oneShot: ['exec', '--skip-git-repo-check', '-'],
    profileOption: '--profile',
    variables: [
      secret('OPENAI_API_KEY', 'the key of the API'),
      secret('CODEX_API_KEY', 'the key for one-shot runs alone'),
      setting('OPENAI_BASE_URL', 'another address of the API'),
      setting('CODEX_HOME', 'where its settings are, in place of ~/.codex'),
      ...proxies,
    ],
    env: {},
  },
  opencode: {
    id: 'opencode',
    title: 'opencode',
    npmPackage: 'opencode-ai',
    defaultVersion: '1.18.33',
    command: 'opencode',
    nodeMajor: 18,
    runsOnNode: false,
    libraries: ['glibc', 'musl'],
    launch: [],
    oneShot: ['run'],
    profileOption: '--agent',
    variables: [
      secret('ANTHROPIC_API_KEY', 'the key of the provider Anthropic'),
      secret('OPENAI_API_KEY', 'the key of the provider OpenAI'),
      setting('OPENCODE_CONFIG', 'the file of its settings'),
      setting('OPENCODE_CONFIG_CONTENT', 'its settings themselves, as JSON'),
      ...proxies,
    ],
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
  },
};

/** Undefined for `none`, which is no program at all. */
export function findHarness(id: WorkspaceBlueprint['harness']['id']): Harness | undefined {
  return id === 'none' ? undefined : harnesses[id];
}
