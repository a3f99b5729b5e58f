import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setSecretSchema, type WorkspaceBlueprint } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore, type Store } from '../../store/store.ts';
import type { Caller } from '../../tenancy/caller.ts';
import { checkSecrets } from './check-secrets.ts';
import { InsideSecrets, secretsIn } from './inside-secrets.ts';
import { ProjectSecrets } from './project-secrets.ts';
import { Secrets } from './secrets.ts';
import { secretEnvironment } from './trust.ts';
import { Vault } from './vault.ts';

const ada: Caller = { owner: { tenant: 'acme', project: 'web', principal: 'ada' }, scope: 'manage', key: null };
const newVault = () => new Vault({ kind: 'text', text: randomBytes(32).toString('base64'), name: 'the key' });

let folder: string;
let store: Store;
let inside: InsideSecrets;
const vault = newVault();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-inside-'));
  store = await openStore({ sqlite: join(folder, 'caisson.db') });
  const projects = new ProjectSecrets(store.secrets, vault);
  const secrets = new Secrets(store.secrets, vault, projects);
  const set = (name: string, change: object) =>
    secrets.set(ada, name, setSecretSchema.parse({ value: 'the-very-value', domains: ['a.example'], ...change }));
  await set('token', { env: 'API_TOKEN', placeholder: 'placeholder-one' });
  await set('second', { env: 'API_TOKEN', placeholder: 'placeholder-two' });
  await set('header', { header: { name: 'X-Key' } });
  const authority = { certificate: async () => 'PEM' };
  inside = new InsideSecrets({ projects, authority });
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** A blueprint whose network names these secrets. */
function naming(...names: string[]): WorkspaceBlueprint {
  const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' } });
  const { runtime } = blueprint;
  return {
    ...blueprint,
    runtime: { ...runtime, network: { ...runtime.network, secrets: names } },
  };
}

test('names without a secret are refused, each with its place', async () => {
  await expect(inside.require(ada.owner, naming('token', 'nope', 'header', 'none'))).rejects.toMatchObject({
    code: 'spec_invalid',
    problems: [{ path: 'runtime.network.secrets[1]' }, { path: 'runtime.network.secrets[3]' }],
  });
  await expect(inside.require(ada.owner, naming('token', 'header'))).resolves.toBeUndefined();
  await expect(inside.require({ ...ada.owner, tenant: 'evil' }, naming('token'))).rejects.toMatchObject({
    code: 'spec_invalid',
  });
});

test('a secret that does not open is told as such, and not as one that is not there', async () => {
  const projects = new ProjectSecrets(store.secrets, newVault());
  const authority = { certificate: async () => 'PEM' };
  const locked = new InsideSecrets({ projects, authority });
  await expect(locked.require(ada.owner, naming('token'))).rejects.toMatchObject({ code: 'secret_unreadable' });
});

test('a sandbox that names no secret has nothing of it inside', async () => {
  expect(await inside.atLaunch(ada.owner, secretsIn(naming()))).toBeUndefined();
});

test('inside are placeholders and whom to trust, and no value', async () => {
  const launch = await inside.atLaunch(ada.owner, ['token', 'second', 'header', 'gone']);
  expect(launch?.env).toMatchObject({
    API_TOKEN: 'placeholder-one',
    SSL_CERT_FILE: '/dev/caisson-roots.pem',
    NODE_EXTRA_CA_CERTS: '/dev/caisson-ca.pem',
  });
  expect(JSON.stringify(launch)).not.toContain('the-very-value');
  expect(launch?.notices).toEqual([expect.stringContaining('The secret gone')]);
});

test('a secret without a variable of its own adds none', () => {
  const none = secretEnvironment([]);
  expect(
    secretEnvironment([
      { env: null, placeholder: 'placeholder-one' },
      { env: 'X', placeholder: null },
    ]),
  ).toEqual(none);
});

test('doctor says whether the key fits what is stored', async () => {
  expect(await checkSecrets(store.secrets, vault)).toMatchObject({
    ok: true,
    detail: 'can be read with the key of the key',
  });
  expect(await checkSecrets(store.secrets, newVault())).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/^a stored one cannot be read: .*another key/),
  });
});
