import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normalizeUserWorkspaceSpec, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guestProgram } from '../../packages/server/src/backends.ts';
import { type ControlPlane, openControlPlane } from '../../packages/server/src/control-plane.ts';
import { DataFolder } from '../../packages/server/src/data-folder.ts';
import { defaultBounds } from '../../packages/server/src/images/bounds.ts';
import { Packer } from '../../packages/server/src/images/pack/packer.ts';
import { slowness } from '../slowness.ts';
import { type GitServer, gitServer } from './git-server.ts';

/** What a build is given of its sources, from a server with a real driver and nothing that listens. */
const data = mkdtempSync(join(tmpdir(), 'caisson-context-'));
const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
const { signal } = new AbortController();
const folder = DataFolder.open(data);
let git: GitServer;
let plane: ControlPlane;
let commit = '';

beforeAll(async () => {
  git = await gitServer();
  commit = git.make('project', { 'a.txt': 'one\n', link: '-> /etc/passwd' });
  const egress = { open: [`127.0.0.1:${git.httpPort}`] };
  plane = await openControlPlane(folder, { version: '0.0.0-test', drivers: ['oci'], egress });
}, 60_000 * slowness);
afterAll(async () => {
  await plane?.close();
  await git?.close();
  folder.close();
  rmSync(data, { recursive: true });
});

const blueprint = () => {
  const url = `http://127.0.0.1:${git.httpPort}/project`;
  const inputs = [{ purpose: 'config', kind: 'git', url, ref: 'main' }];
  return normalizeUserWorkspaceSpec({ repo: url, inputs, setup: 'true' }, { requireSource: true });
};
const ask = (id: string) => {
  const url = `http://127.0.0.1:${git.httpPort}/project`;
  const plan = {
    repository: { url, commit: id, path: '/workspace/repo' },
    inputs: [{ id: 'config-1', purpose: 'config', kind: 'git', url, commit: id }],
  } as unknown as ResolvedImagePlan;
  return plane.sources?.context({ plan, blueprint: blueprint(), owner, progress: () => {}, signal });
};
const packed = async (of: string) => {
  const hash = createHash('sha256');
  for await (const chunk of new Packer(guestProgram(), defaultBounds).openContent(of, signal)) hash.update(chunk);
  return hash.digest('hex');
};
const left = async () => ({
  folders: readdirSync(join(data, 'sources')),
  instances: (await plane.drivers[0]?.list(signal))?.instances.length,
});

test('a build is given the files of exactly its commits, and nothing stays of how they came', async () => {
  const facts = await plane.sources?.resolve(blueprint(), owner, signal);
  expect(facts).toEqual({ commit, branch: 'main', inputs: { 'config-1': commit } });
  git.git('project', 'commit', '-q', '--allow-empty', '-m', 'later');
  const context = await ask(commit);
  for (const place of ['repository', 'inputs/config-1']) {
    const at = join(context?.folder ?? '', place);
    expect(readdirSync(at).sort()).toEqual(['.git', 'a.txt', 'link']);
    expect(readFileSync(join(at, '.git', 'HEAD'), 'utf8').trim()).toBe(commit);
    // What was a link to a file of the sandbox is one still, and was never followed.
    expect(statSync(join(at, 'a.txt')).size).toBe(4);
  }
  // Fetched once more it is the same, byte for byte: a builder that goes by content finds what it had.
  const again = await ask(commit);
  expect(await packed(again?.folder ?? '')).toBe(await packed(context?.folder ?? ''));
  await again?.dispose();
  await context?.dispose();
  expect(await left()).toEqual({ folders: [], instances: 0 });
});

test('a build whose commit is gone is told so, and nothing stays of it', async () => {
  await expect(ask('e'.repeat(40))).rejects.toMatchObject({ code: 'source_not_found' });
  expect(await left()).toEqual({ folders: [], instances: 0 });
});
