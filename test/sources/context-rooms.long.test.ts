import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normalizeUserWorkspaceSpec, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guestProgram } from '../../packages/server/src/backends.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  openControlPlane,
} from '../../packages/server/src/control-plane.ts';
import { DataFolder } from '../../packages/server/src/data-folder.ts';
import { defaultBounds } from '../../packages/server/src/images/bounds.ts';
import { Packer } from '../../packages/server/src/images/pack/packer.ts';
import { skip } from '../conformance/skips.ts';
import { giveDebianBase } from '../debian-base.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { type GitServer, gitServer } from './git-server.ts';

/** What git unpacks is the same in every kind of room, whichever git is in it. */
const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
const { signal } = new AbortController();
const scratch = mkdtempSync(join(tmpdir(), 'caisson-context-rooms-'));
const missing = whyNoEngine('docker');
const undo: (() => unknown)[] = [];
let git: GitServer;
let engine: RealEngine;

beforeAll(async () => {
  if (missing !== undefined) return;
  git = await gitServer();
  engine = await startEngine('docker');
}, 300_000 * slowness);
afterAll(async () => {
  for (const step of undo.reverse()) await step();
  await engine?.close();
  await git?.close();
  rmSync(scratch, { recursive: true, force: true });
}, 120_000 * slowness);

async function planeOn(name: string, options: Partial<ControlPlaneOptions>): Promise<ControlPlane> {
  const data = join(scratch, name);
  await giveDebianBase(data);
  const folder = DataFolder.open(data);
  undo.push(() => folder.close());
  const egress = { open: [`127.0.0.1:${git.httpPort}`] };
  const plane = await openControlPlane(folder, { version: '0.0.0-test', egress, ...options });
  undo.push(() => plane.close());
  return plane;
}

async function packed(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of new Packer(guestProgram(), defaultBounds).openContent(folder, signal)) hash.update(chunk);
  return hash.digest('hex');
}

test(
  'a repository with submodules is the same files, byte for byte, on this machine and on an engine',
  async (context) => {
    if (missing !== undefined) skip(context, missing);
    git.make('inner', { 'inner.txt': 'inner\n' });
    git.make('outer', { 'a.txt': 'one\n', 'bin/run': '#!/bin/sh\n', link: '-> /etc/passwd' });
    const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add'];
    git.git('outer', ...add, join(git.folder, 'inner'), 'lib/inner');
    git.git('outer', 'config', '-f', '.gitmodules', 'submodule.lib/inner.url', '../inner');
    git.git('outer', 'add', '-A');
    git.git('outer', 'commit', '-q', '-m', 'with a part');
    const commit = git.git('outer', 'rev-parse', 'HEAD');
    const url = `http://127.0.0.1:${git.httpPort}/outer`;
    const plan = { repository: { url, commit, path: '/workspace/repo' }, inputs: [] } as unknown as ResolvedImagePlan;
    const digestOn = async ({ sources }: ControlPlane, release: string) => {
      const os = { family: 'debian', release };
      const source = { kind: 'git', url, submodules: true };
      const blueprint = normalizeUserWorkspaceSpec({ os, source, setup: 'true' }, { requireSource: true });
      const made = await sources?.context({ plan, blueprint, owner, progress: () => {}, signal });
      try {
        return await packed(made?.folder ?? '');
      } finally {
        await made?.dispose();
      }
    };
    const here = await planeOn('oci', { drivers: ['oci'] });
    const there = await planeOn('docker', {
      drivers: ['docker'],
      engines: { dockerHost: engine.host },
      buildWith: 'buildkit',
    });
    const same = await digestOn(here, 'bookworm');
    expect(await digestOn(there, 'bookworm')).toBe(same);
    // Its git is years newer.
    expect(await digestOn(there, 'trixie')).toBe(same);
  },
  600_000 * slowness,
);
