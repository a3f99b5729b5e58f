import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId, type SetSecret, setSecretSchema } from '@caisson/contract';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore, type Store } from '../../store/store.ts';
import type { Caller } from '../../tenancy/caller.ts';
import type { EgressSubject, RequestHead } from '../egress.ts';
import { Authority } from './authority.ts';
import { EgressVault, matchesDomain } from './bound-secrets.ts';
import { ProjectSecrets } from './project-secrets.ts';
import { Secrets } from './secrets.ts';
import { Vault } from './vault.ts';

const ada: Caller = { owner: { tenant: 'acme', project: 'web', principal: 'ada' }, scope: 'manage', key: null };
const evil: Caller = { owner: { tenant: 'evil', project: 'web', principal: 'eve' }, scope: 'admin', key: null };
const value = 'the-very-value';
const plain: RequestHead = { method: 'GET', target: '/', fields: [['Host', 'api.example.com']] };

let folder: string;
let store: Store;
let projects: ProjectSecrets;
let secrets: Secrets;
let egress: EgressVault;
let missing: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-bound-'));
  store = await openStore({ sqlite: join(folder, 'caisson.db') });
  const vault = new Vault({ kind: 'text', text: randomBytes(32).toString('base64'), name: 'k' });
  projects = new ProjectSecrets(store.secrets, vault);
  secrets = new Secrets(store.secrets, vault, projects);
  missing = [];
  egress = new EgressVault({
    projects,
    store: store.secrets,
    authority: new Authority(folder, vault),
    missing: (_, name) => missing.push(name),
  });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const secret = (change: object = {}): SetSecret =>
  setSecretSchema.parse({ value, domains: ['api.example.com'], header: { name: 'X-Key' }, ...change });
const subject = (names: string[], owner = ada.owner): EgressSubject => ({
  sandbox: newId('sandbox'),
  owner,
  rules: { mode: 'open', allow: [], deny: [], limits: {}, secrets: names },
});
const sent = async (who: EgressSubject, host = 'api.example.com', port = 443) =>
  (await egress.find(who, host, port))?.apply(plain);

test('a secret goes to its host when the rules name it, and says that it did', async () => {
  await secrets.set(ada, 'token', secret());
  const applied = await sent(subject(['token']));
  expect(applied).toEqual({ head: { ...plain, fields: [...plain.fields, ['X-Key', value]] }, used: ['token'] });
});

test.each([
  ['another host', ['token'], 'other.example.com', 443],
  ['a host below', ['token'], 'x.api.example.com', 443],
  ['a host that ends alike', ['token'], 'evilapi.example.com', 443],
  ['another port', ['token'], 'api.example.com', 8443],
  ['rules that do not name it', [], 'api.example.com', 443],
  ['rules that name another', ['other'], 'api.example.com', 443],
])('a secret does not go to %s', async (_, names, host, port) => {
  await secrets.set(ada, 'token', secret());
  expect(await egress.find(subject(names), host, port)).toBeUndefined();
});

test('the same name is another secret for another tenant or project', async () => {
  await secrets.set(ada, 'token', secret());
  expect(await sent(subject(['token'], evil.owner))).toBeUndefined();
  expect(await sent(subject(['token'], { ...ada.owner, project: 'ops' }))).toBeUndefined();
});

test('a change and a deletion count at once, on open connections too', async () => {
  await secrets.set(ada, 'token', secret());
  const bound = await egress.find(subject(['token']), 'api.example.com', 443);
  await secrets.set(ada, 'token', secret({ value: 'rotated' }));
  expect(bound?.apply(plain).head.fields).toContainEqual(['X-Key', 'rotated']);
  await secrets.set(ada, 'token', secret({ domains: ['elsewhere.example'] }));
  expect(bound?.apply(plain).used).toEqual([]);
  await secrets.set(ada, 'token', secret());
  expect(bound?.apply(plain).used).toEqual(['token']);
  await secrets.delete(ada, 'token');
  expect(bound?.apply(plain)).toEqual({ head: plain, used: [] });
  expect(await sent(subject(['token']))).toBeUndefined();
});

test('a store that fails leaves no old secrets in force', async () => {
  await secrets.set(ada, 'token', secret());
  const bound = await egress.find(subject(['token']), 'api.example.com', 443);
  await store.close();
  await expect(projects.changed(ada.owner)).rejects.toThrow();
  expect(bound?.apply(plain).used).toEqual([]);
  store = await openStore({ sqlite: join(folder, 'caisson.db') });
});

test('rules that name what is not there are told once for each sandbox', async () => {
  await secrets.set(ada, 'token', secret());
  const who = subject(['token', 'gone']);
  for (let n = 0; n < 3; n += 1) await sent(who);
  expect(missing).toEqual(['gone']);
});

test('a row that was moved or whose hosts were changed in the database opens for nobody', async () => {
  await secrets.set(ada, 'token', secret());
  const [row] = await store.secrets.sealed();
  if (!row) throw new Error('no row');
  const forged = { ...row, keepsPlaceholder: false };
  await store.secrets.put({ ...forged, tenant: 'evil' });
  await store.secrets.put({ ...forged, name: 'other' });
  await store.secrets.put({ ...forged, domains: ['evil.example'] });
  expect(await sent(subject(['token'], evil.owner))).toBeUndefined();
  expect(await sent(subject(['other']))).toBeUndefined();
  expect(await sent(subject(['token']), 'evil.example')).toBeUndefined();
});

test('when it was last used is written down, and not for each request', async () => {
  await secrets.set(ada, 'token', secret());
  for (let n = 0; n < 5; n += 1) await sent(subject(['token']));
  const times = (await store.secrets.list(ada.owner)).map(({ lastUsedAt }) => lastUsedAt);
  expect(times).toEqual([expect.any(String)]);
});

test('a placeholder that was made up stays when the value is replaced, and a given one is as given', async () => {
  const first = await secrets.set(ada, 'token', secret({ header: undefined }));
  expect(first.placeholder).toMatch(/^csn-secret-[0-9a-f]{32}$/);
  expect((await secrets.set(ada, 'token', secret({ header: undefined, value: 'new' }))).placeholder).toBe(
    first.placeholder,
  );
  expect((await secrets.set(ada, 'token', secret({ env: 'TOKEN' }))).placeholder).toBe(first.placeholder);
  expect((await secrets.set(ada, 'token', secret({ placeholder: 'my-own-placeholder' }))).placeholder).toBe(
    'my-own-placeholder',
  );
  expect((await secrets.set(ada, 'token', secret())).placeholder).toBeNull();
});

test('a value never goes to a host that it is not bound to, whatever the request says', async () => {
  const stored = await secrets.set(ada, 'token', secret({ domains: ['*.example.com'], env: 'TOKEN' }));
  const mark = stored.placeholder ?? '';
  const host = fc.oneof(
    fc.domain(),
    fc.constantFrom('example.com', 'example.com.evil.org', 'notexample.com', '.example.com', 'a.example.com'),
  );
  await fc.assert(
    fc.asyncProperty(host, fc.string(), async (name, text) => {
      const head: RequestHead = { method: 'GET', target: `/${mark}`, fields: [['X', `${text.length}${mark}`]] };
      const bound = await egress.find(subject(['token']), name, 443);
      const isBound = name.endsWith('.example.com') && name !== '.example.com';
      expect(bound !== undefined).toBe(isBound);
      expect(JSON.stringify(bound?.apply(head) ?? head).includes(value)).toBe(isBound);
    }),
  );
});

test.each([
  ['example.com', 'EXAMPLE.com', true],
  ['example.com', 'a.example.com', false],
  ['*.example.com', 'a.b.example.com', true],
  ['*.example.com', 'example.com', false],
  ['*.example.com', '.example.com', false],
  ['*.example.com', 'aexample.com', false],
])('%s and %s: %s', (domain, host, matches) => {
  expect(matchesDomain(domain, host)).toBe(matches);
});
