import { expect, test } from 'vitest';
import { describeTools, runToolSchema } from './tool-shape.ts';
import { type ToolName, toolNames, tools } from './tool-table.ts';

const accepts = (name: ToolName, params: unknown) => tools[name].params.safeParse(params).success;

test('the tools and their tiers are those that agents are promised', () => {
  const ofTier = (tier: number) => toolNames.filter((name) => tools[name].tier === tier);
  expect(ofTier(1).join(' ')).toBe('read_file write_file edit_file grep glob git_status git_diff git_log git_show');
  expect(ofTier(2).join(' ')).toBe('bash git_add git_commit git_push git_clone git_fetch git_pull');
  for (const name of ofTier(1).filter((tool) => !tool.startsWith('git_'))) expect(tools[name].spawns).toBe(false);
});

test('each tool tells what it takes as a JSON Schema that knows no other field', () => {
  for (const { name, params, summary } of describeTools()) {
    expect(params, name).toMatchObject({ type: 'object', additionalProperties: false });
    expect(summary.length).toBeGreaterThan(5);
  }
  const [readFile] = describeTools();
  expect(readFile?.params).toMatchObject({ required: ['path'] });
});

test.each<[ToolName, Record<string, unknown>]>([
  ['git_log', { ref: '--output=/tmp/x' }],
  ['git_diff', { from: '-O/tmp/x' }],
  ['git_show', { ref: 'HEAD --output=x' }],
  ['git_push', { remote: '--receive-pack=sh' }],
  ['git_push', { ref: '-f' }],
  ['git_fetch', { refs: ['ok', '--upload-pack=sh'] }],
  ['git_pull', { branch: '--exec=sh' }],
  ['git_clone', { url: '--upload-pack=sh', path: 'x' }],
  ['git_clone', { url: 'ext::sh -c id', path: 'x' }],
  ['git_clone', { url: 'https://example.org/a.git', path: 'a\0b' }],
  ['git_commit', { message: '' }],
  ['bash', { command: 'a\0b' }],
  ['bash', { command: 'ls', shell: 'zsh' }],
  ['read_file', { path: '' }],
  ['read_file', { path: 'x'.repeat(4096) }],
  ['grep', { pattern: 'x', limit: 10_001 }],
  ['edit_file', { path: 'x', edits: [] }],
])('%s with %j is refused', (name, params) => {
  expect(accepts(name, params)).toBe(false);
});

test.each<[ToolName, Record<string, unknown>]>([
  ['git_log', { ref: 'main..feature/x' }],
  ['git_show', { ref: 'v1.0^{commit}' }],
  ['git_push', { ref: 'HEAD:refs/heads/x' }],
  ['git_clone', { url: 'git@example.org:a/b.git', path: 'b' }],
  ['git_fetch', {}],
  ['git_commit', { message: '--amend is only text here' }],
])('%s with %j is taken', (name, params) => {
  expect(accepts(name, params)).toBe(true);
});

test('a request has bounds, and an unlimited one has the usual ones', () => {
  const request = { tool: 'bash', callId: 'c1' };
  expect(runToolSchema.parse(request)).toMatchObject({ params: {}, timeoutSeconds: 120, maxOutputBytes: 262_144 });
  for (const wrong of [
    { timeoutSeconds: 3_601 },
    { callId: '' },
    { callId: 'x'.repeat(201) },
    { callId: 'a\nb' },
    { resources: { cpus: 2 } },
    { maxOutputBytes: 5_000_000 },
  ]) {
    expect(runToolSchema.safeParse({ ...request, ...wrong }).success, JSON.stringify(wrong)).toBe(false);
  }
});
