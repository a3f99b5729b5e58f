import { expect, test } from 'vitest';
import { buildArtifactsSchema, type OsExecutor, supportFailureReasons, supportResultSchema } from './executor.ts';
import { normalizeUserWorkspaceSpec } from './user-workspace-spec.ts';

const sha256 = `sha256:${'c'.repeat(64)}`;

test('the reasons are the five of the contract', () => {
  expect(supportFailureReasons).toEqual([
    'unsupported-os',
    'unsupported-harness',
    'unsupported-package',
    'unsupported-access-mode',
    'unsupported-runtime-requirement',
  ]);
});

test('a failure needs a known reason, a path and a message, and there is at least one', () => {
  const failure = { reason: 'unsupported-os', path: 'target.os', message: 'Only Debian.' };
  const accepts = (value: unknown) => supportResultSchema.safeParse(value).success;
  expect(accepts({ ok: true })).toBe(true);
  expect(accepts({ ok: false, failures: [failure] })).toBe(true);
  expect(accepts({ ok: false, failures: [] })).toBe(false);
  expect(accepts({ ok: true, failures: [failure] })).toBe(false);
  for (const change of [{ reason: 'unsupported' }, { path: '' }, { message: '' }]) {
    expect(accepts({ ok: false, failures: [{ ...failure, ...change }] })).toBe(false);
  }
});

test('a compilation returns at least one artifact of the four kinds', () => {
  const artifacts = [
    {
      kind: 'oci-image',
      digest: sha256,
      platform: { os: 'linux', architecture: 'amd64' },
      location: { kind: 'registry', reference: 'r/x' },
    },
    { kind: 'filesystem-closure', root: '/nix/store', paths: ['/nix/store/a'] },
    { kind: 'manifest', mediaType: 'application/vnd.oci.image.index.v1+json', content: '{}' },
    {
      kind: 'metadata',
      executor: 'native',
      blueprintDigest: `blueprint-${sha256}`,
      planDigest: `plan-${sha256}`,
      packages: [],
    },
  ];
  expect(buildArtifactsSchema.parse(artifacts)).toEqual(artifacts);
  for (const artifact of artifacts) expect(buildArtifactsSchema.safeParse([artifact]).success).toBe(true);
  expect(buildArtifactsSchema.safeParse([]).success).toBe(false);
  expect(buildArtifactsSchema.safeParse([{ kind: 'tarball' }]).success).toBe(false);
  expect(buildArtifactsSchema.safeParse([{ ...artifacts[0], digest: `plan-${sha256}` }]).success).toBe(false);
});

test('an executor answers at once which parts of a blueprint it cannot build', () => {
  const executor: OsExecutor = {
    id: 'debian-only',
    supports: ({ blueprint }) =>
      blueprint.target.os.family === 'debian'
        ? { ok: true }
        : { ok: false, failures: [{ reason: 'unsupported-os', path: 'target.os', message: 'Only Debian.' }] },
    compile: async () => [{ kind: 'manifest', mediaType: 'text/plain', content: 'x' }],
  };
  const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' }, os: 'nix' });
  const support = executor.supports({ blueprint });
  expect(supportResultSchema.parse(support)).toMatchObject({ ok: false, failures: [{ path: 'target.os' }] });
});
