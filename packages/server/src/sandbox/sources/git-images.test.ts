import { CaissonError, type NetworkRules } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { describe, expect, test } from 'vitest';
import type { BuildRequest, BuiltImage } from '../../images/builders/builder.ts';
import type { Images } from '../../images/images.ts';
import type { Plans } from '../plans.ts';
import { GitImages } from './git-images.ts';
import type { RoomRequest } from './rooms.ts';

const image = { digest: 'sha256:0', layers: [], name: 'room', config: {}, notices: [] } as unknown as BuiltImage;
const rulesOf = (mode: NetworkRules['mode'], allow: string[] = [], deny: string[] = []): NetworkRules => ({
  ...{ mode, allow, deny },
  limits: { connections: 1 },
  secrets: ['token'],
});

/** A server whose builder does what it is told, and whose images are held by nobody but rooms. */
class World {
  readonly asked: BuildRequest[] = [];
  readonly planned: { family: string; release: string | undefined; packages: string[] }[] = [];
  readonly told: string[] = [];
  held = 0;
  build: (request: BuildRequest) => Promise<BuiltImage> = async () => image;
  readonly images: GitImages;

  constructor(hasBuilder = true) {
    const propose: Plans['propose'] = async ({ target, tooling }) => {
      const { family, release } = target.os;
      this.planned.push({ family, release, packages: tooling.packages.map(({ id }) => id) });
      const plan = { os: { family: family === 'auto' ? 'debian' : family } };
      return { plan, planDigest: `${family} ${release}`, unresolved: [], notices: [] } as never;
    };
    const hold = () => {
      this.held += 1;
      return () => {
        this.held -= 1;
      };
    };
    const builder = {
      name: 'buildkit' as const,
      probe: async () => undefined,
      build: (request: BuildRequest) => {
        this.asked.push(request);
        return this.build(request);
      },
    };
    this.images = new GitImages({
      plans: { propose } as unknown as Plans,
      images: { resolve: async () => image, hold } as unknown as Images,
      builder: () => (hasBuilder ? builder : undefined),
    });
  }

  request(os: unknown, rules: NetworkRules, project = 'web'): RoomRequest {
    const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' }, os });
    const owner = { tenant: 'acme', project, principal: 'ada' };
    const { signal } = new AbortController();
    return { os: blueprint.target.os, owner, rules, signal, progress: (line) => void this.told.push(line) };
  }

  use = (...args: Parameters<World['request']>) => this.images.use(this.request(...args), async ({ name }) => name);
}

describe('what a room with git is made by', () => {
  const mirror = ['preset:debian'];
  test.each([
    ['a distribution whose spec is closed', 'debian', rulesOf('off'), { mode: 'allowlist', allow: mirror }],
    [
      'a distribution that may reach little',
      { family: 'debian', release: 'trixie' },
      rulesOf('allowlist', ['a.io'], ['b.io']),
      { mode: 'allowlist', allow: ['a.io', ...mirror], deny: ['b.io'] },
    ],
    ['an image that may reach little', imageOs(), rulesOf('allowlist', ['a.io']), { allow: ['a.io'] }],
    ['an image that is closed', imageOs(), rulesOf('off', ['a.io']), { mode: 'allowlist', allow: [] }],
    ['an image that is open', imageOs(), rulesOf('open', [], ['b.io']), { mode: 'open', deny: ['b.io'] }],
  ])('is what the spec may reach, and no more: %s', async (_, os, rules, expected) => {
    const world = new World();
    expect(await world.use(os, rules)).toBe('room');
    expect(world.asked[0]?.rules).toMatchObject({ ...expected, limits: {}, secrets: [] });
    expect(world.asked[0]?.owner).toMatchObject({ tenant: 'acme', project: 'web' });
  });

  test('is the same release, and Debian where the spec names an image', async () => {
    const world = new World();
    await world.use({ family: 'debian', release: 'trixie' }, rulesOf('open'));
    await world.use(imageOs(), rulesOf('open'));
    const packages = ['git', 'ca-certificates'];
    expect(world.planned).toEqual([
      { family: 'debian', release: 'trixie', packages },
      { family: 'auto', release: undefined, packages },
    ]);
  });

  test('is built once for those of one project who ask at a time, and held while one uses it', async () => {
    const world = new World();
    const finish: ((built: BuiltImage) => void)[] = [];
    world.build = () => new Promise((resolve) => finish.push(resolve));
    const seen: number[] = [];
    const wait = (project: string) =>
      world.images.use(world.request('debian', rulesOf('open'), project), async () => {
        seen.push(world.held);
      });
    const all = [wait('web'), wait('web'), wait('other')];
    await expect.poll(() => world.planned.length).toBe(3);
    await expect.poll(() => finish.length).toBe(2);
    // Whoever has planned has joined by then.
    await new Promise(setImmediate);
    for (const done of finish) done(image);
    await Promise.all(all);
    expect(world.asked).toHaveLength(2);
    expect(seen.every((held) => held > 0)).toBe(true);
    expect(world.held).toBe(0);
  });

  test('tells what is done and nothing of what is found again', async () => {
    const world = new World();
    const ended = { kind: 'step-ended', step: 'packages', ms: 1_500 } as const;
    world.build = async ({ tell }) => {
      await Promise.resolve();
      tell({ kind: 'step-began', step: 'packages', title: '2 packages' });
      tell({ ...ended, outcome: 'cached' });
      return image;
    };
    await world.use('debian', rulesOf('open'));
    expect(world.told).toEqual([]);
    world.build = async ({ tell }) => {
      await Promise.resolve();
      tell({ kind: 'step-began', step: 'packages', title: '2 packages' });
      for (const text of ['Get:1\n', 'Get:2\n']) tell({ kind: 'output', step: 'packages', text });
      tell({ ...ended, outcome: 'done' });
      return image;
    };
    await world.use('debian', rulesOf('open'));
    expect(world.told).toEqual(['making a room with git', 'making a room with git: 2 packages done (1.5 s)']);
  });

  test('that fails keeps what it says of its step; without a builder there is none', async () => {
    const world = new World();
    const context = { step: 'packages', lastLines: ['Temporary failure resolving'] };
    world.build = () => Promise.reject(new CaissonError('build_failed', 'packages ended with 100', { context }));
    const message = 'a room with git could not be made: packages ended with 100';
    await expect(world.use('debian', rulesOf('open'))).rejects.toMatchObject({
      code: 'build_failed',
      message,
      context,
    });
    await expect(new World(false).use('debian', rulesOf('open'))).rejects.toMatchObject({ code: 'source_failed' });
  });
});

function imageOs() {
  return { family: 'image', reference: 'registry.example/app:1' };
}
