import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { pinBase } from '../../packages/server/src/images/plan/pin-base.ts';
import { isFailure, planPlace } from '../../packages/server/src/images/plan/plan-place.ts';
import { sharedImages, testDebianBase } from '../debian-base.ts';
import { contents, freshImages, isRoot, nothing, removeScratch, scratchFolder, soon } from './images-folder.ts';
import { blueprintOf } from './plan-samples.ts';
import { type RealRegistry, startRegistry } from './real-registry.ts';
import { makeSampleImage } from './sample-image.ts';

// Compiled before the clock of any test runs.
buildGuest({ quiet: true });

function pin(images: ReturnType<typeof freshImages>['images'], os: unknown) {
  const blueprint = blueprintOf({ os });
  const place = planPlace(blueprint);
  if (isFailure(place)) throw new Error(place.message);
  return pinBase(images, blueprint, place, soon());
}

if (!isRoot) test.skip('the base of a plan: needs root', () => {});

describe.runIf(isRoot)('the base of a plan', () => {
  let registry: RealRegistry;

  beforeAll(async () => {
    const folder = scratchFolder();
    const layout = makeSampleImage(folder);
    registry = await startRegistry(folder);
    registry.push(`oci:${layout}:sample`, 'library/alpine:3.22');
  }, 120_000);

  afterAll(async () => {
    await registry?.stop();
    removeScratch();
  });

  test('an image is pinned by what its registry says now, and nothing of it is fetched', async () => {
    const { images, folder } = freshImages();
    const reference = `${registry.host}/library/alpine:3.22`;
    const pinned = await pin(images, { family: 'image', reference });
    expect(pinned).toEqual({ kind: 'registry', reference, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
    await images.workshop();
    expect(contents(folder)).toEqual(nothing);
    const { digest } = pinned as { digest: string };
    const resolved = await images.resolve({ family: 'image', mode: 'require', reference }, { signal: soon() });
    expect(resolved.pinned).toBe(`${registry.host}/library/alpine@${digest}`);
  });

  test('a distribution is an image of the default registry', async () => {
    const { images } = freshImages({ defaultRegistry: registry.host });
    expect(await pin(images, 'alpine')).toMatchObject({ reference: `${registry.host}/library/alpine:3.22` });
    await expect(pin(images, 'fedora')).rejects.toMatchObject({ code: 'image_not_found' });
    // And begins from it as it is, where nothing has to be built.
    const { pinned } = await images.resolve({ family: 'alpine', mode: 'require' }, { signal: soon() });
    expect(pinned).toMatch(`${registry.host}/library/alpine@sha256:`);
    const unknown = images.resolve({ family: 'alpine', mode: 'require', release: '1.0' }, { signal: soon() });
    await expect(unknown).rejects.toMatchObject({ code: 'unsupported-os' });
    const nowhere = freshImages().images.resolve({ family: 'alpine', mode: 'require' }, { signal: soon() });
    await expect(nowhere).rejects.toMatchObject({ code: 'unsupported-os' });
  });

  test('without a default registry the base is left open, with the reason', async () => {
    expect(await pin(freshImages().images, 'alpine')).toContain('no default one');
  });

  test('a registry that this server may not ask is not asked', async () => {
    const { images } = freshImages({ registries: ['other.example'] });
    const os = { family: 'image', reference: `${registry.host}/library/alpine:3.22` };
    await expect(pin(images, os)).rejects.toMatchObject({ code: 'registry_failed' });
  });

  test.each(['registry.example/UPPER', 'registry.example/a@sha256:1', 'nowhere'])(
    '%s is refused',
    async (reference) => {
      await expect(pin(freshImages().images, { family: 'image', reference })).rejects.toMatchObject({
        code: 'spec_invalid',
      });
    },
  );

  test('Debian has the digest of the base that is made, and none before', { timeout: 180_000 }, async () => {
    expect(await pin(freshImages().images, 'debian')).toContain('not made yet');
    const { digest } = await testDebianBase();
    expect(await pin(sharedImages(), 'debian')).toEqual({
      kind: 'rootfs-archive',
      reference: 'debian:bookworm',
      digest,
    });
  });
});
