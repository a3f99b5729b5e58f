import { expect, test } from 'vitest';
import { ProfileCatalog } from '../profiles/catalog.ts';
import { shippedProfiles } from '../profiles/shipped.ts';
import { checkProfile } from './check-profile.ts';
import { compose } from './compose.ts';

const catalog = new ProfileCatalog(shippedProfiles);

test.each(shippedProfiles.map((profile) => [profile.name, profile]))(
  '%s ships as a spec that is valid',
  (_, profile) => {
    const { isNew, blueprintDigest } = checkProfile(catalog, profile);
    expect(isNew).toBe(false);
    expect(blueprintDigest).toMatch(/^\S{20,}$/);
  },
);

test('a bare create makes the same as the blank profile, so that one warm pool serves both', () => {
  expect(compose(catalog.get('sandbox-canary'), {}, {}).digest).toBe(compose(catalog.get('blank'), {}, {}).digest);
});

test('untrusted has a kernel of its own and no network', () => {
  expect(compose(catalog.get('untrusted'), {}, {}).blueprint.runtime).toMatchObject({
    ociRuntime: 'runsc',
    network: { mode: 'off' },
  });
});

test('a repository of agent-dev is an input', () => {
  const { blueprint } = compose(catalog.get('agent-dev'), { repo: 'https://example.com/a.git', harness: 'codex' }, {});
  expect(blueprint).toMatchObject({
    sources: { workspace: { url: 'https://example.com/a.git' } },
    harness: { id: 'codex' },
  });
});

test('the faults of a profile’s spec are told with their paths', () => {
  const bad = { name: 'bad', version: 1, spec: { os: 'windows', packages: [7] } };
  expect(() => checkProfile(catalog, bad)).toThrow(
    expect.objectContaining({
      code: 'spec_invalid',
      problems: expect.arrayContaining([expect.objectContaining({ path: 'os' })]),
    }),
  );
});

test('a spec that needs an input is judged when it has it', () => {
  const inputs = { repo: { type: 'string', required: true } };
  const needy = { name: 'needy', version: 1, inputs, spec: { repo: '${inputs.repo}' } };
  expect(checkProfile(catalog, needy)).toMatchObject({ isNew: true, blueprintDigest: null });
});
