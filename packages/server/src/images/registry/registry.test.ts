import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseChallenge } from './challenge.ts';
import { readCredentialsFile } from './credentials.ts';
import { mayFollow, registryAddress } from './hosts.ts';

test('only what stays on the machine travels in the open', () => {
  const addresses = [
    'localhost:5000',
    '127.0.0.1:80',
    '[::1]:5000',
    'registry.example',
    'localhost.example',
    '127.0.0.1.example',
  ];
  expect(addresses.map((host) => registryAddress(host).protocol)).toEqual([
    ...['http:', 'http:', 'http:', 'https:', 'https:', 'https:'],
  ]);
});

test.each([
  ['https://registry.example/', 'https://store.example/blob', true],
  ['https://registry.example/', 'http://store.example/blob', false],
  ['https://registry.example/', 'http://registry.example/blob', false],
  ['https://registry.example/', 'https://127.0.0.1/blob', false],
  ['https://registry.example/', 'https://localhost:8443/blob', false],
  ['https://registry.example/', 'file:///etc/shadow', false],
  ['http://localhost:5000/', 'http://127.0.0.1:9000/blob', true],
  ['http://localhost:5000/', 'http://store.example/blob', false],
  ['http://localhost:5000/', 'https://store.example/blob', true],
])('from %s to %s: %s', (from, to, allowed) => {
  expect(mayFollow(new URL(from), new URL(to))).toBe(allowed);
});

test('a challenge is read, whatever its spelling', () => {
  expect(parseChallenge('Bearer realm="https://auth.example/token",service="r",scope="repository:a:pull"')).toEqual({
    scheme: 'bearer',
    realm: 'https://auth.example/token',
    service: 'r',
    scope: 'repository:a:pull',
  });
  expect(parseChallenge('BASIC realm="x"')).toEqual({ scheme: 'basic' });
  expect(parseChallenge('Negotiate')).toBeUndefined();
  expect(parseChallenge(`Bearer ${'a="b",'.repeat(100_000)}`)).toBeUndefined();
});

test('the file of a login gives its credentials, and errors that hold no secret', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-credentials-'));
  const file = join(folder, 'config.json');
  const auth = Buffer.from('me:with:colons').toString('base64');
  writeFileSync(
    file,
    JSON.stringify({
      auths: { 'https://Registry.example/v1/': { auth }, 'b.example': { registrytoken: 't' }, 'c.example': {} },
    }),
  );
  expect(await readCredentialsFile(file)).toEqual({
    'registry.example': { username: 'me', password: 'with:colons' },
    'b.example': { token: 't' },
  });
  writeFileSync(file, '{"auths": {"x": {"auth": "c2VjcmV0"');
  const error = await readCredentialsFile(file).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ code: 'registry_failed' });
  expect(JSON.stringify(error) + String(error) + String((error as Error).cause)).not.toContain('c2VjcmV0');
  expect(await readCredentialsFile(join(folder, 'none.json'))).toEqual({});
  rmSync(folder, { recursive: true });
});
