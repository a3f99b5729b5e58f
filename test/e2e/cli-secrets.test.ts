import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Secret } from '@caisson/contract';
import { afterAll, expect, test } from 'vitest';
import { CliWorld } from './cli-world.ts';

const world = new CliWorld();
afterAll(async () => {
  await world.run(['stop-server']);
  await world.close();
});

const value = 'cli-value-0123456789';
const list = async () => (await world.json<{ items: Secret[] }>(['secret', 'list'])).items;

test('a value comes from the standard input, without the line break that ends it', async () => {
  const set = ['secret', 'set', 'token', '--domain', 'api.example.com', '--domain', '*.example.com'];
  const header = ['--header', 'Authorization: Bearer {}', '--env', 'TOKEN', '--port', '443', '--port', '8443'];
  const { code, out, err } = await world.run([...set, ...header], { stdin: `${value}\n` });
  expect({ code, out }).toEqual({ code: 0, out: 'token\n' });
  expect(err).toMatch(/inside it is csn-secret-/);
  expect(await list()).toMatchObject([
    {
      name: 'token',
      domains: ['api.example.com', '*.example.com'],
      ports: [443, 8443],
      header: 'Authorization',
      env: 'TOKEN',
    },
  ]);
});

test('a value comes from a file', async () => {
  const file = join(world.home, 'value');
  writeFileSync(file, value);
  const set = ['secret', 'set', 'filed', '--domain', 'a.example', '--placeholder', 'my-placeholder', '--value-file'];
  expect(await world.json<Secret>([...set, file])).toMatchObject({ name: 'filed', placeholder: 'my-placeholder' });
  expect(await world.run([...set, join(world.home, 'none')])).toMatchObject({ code: 65 });
  expect(await world.run([...set, '-'], { stdin: 'two\nlines\n' })).toMatchObject({ code: 65 });
  expect(await world.run([...set, '-'], { stdin: '' })).toMatchObject({ code: 65 });
});

test('a value that is typed is not shown', async () => {
  const typing = world.onTerminal(['secret', 'set', 'typed', '--domain', 'a.example']);
  await typing.until(/Value of typed: /);
  typing.child.stdin?.write(`wrong\u0015${value}x\u007f\r`);
  const { code, out } = await typing.done;
  expect(code).toBe(0);
  expect(out).not.toContain('value');
  expect(out).not.toContain('wrong');
  expect(out).toMatch(/[^-]echo\b/);
  expect((await list()).map(({ name }) => name)).toContain('typed');
});

test('a header without a place for the value is refused before anything is read', async () => {
  const { code, err } = await world.run(['secret', 'set', 'x', '--domain', 'a.example', '--header', `X-Key: ${value}`]);
  expect(code).toBe(64);
  expect(err).toContain('Write {} where the value goes');
});

test('secrets are listed for people, and deleted', async () => {
  const { out } = await world.run(['secret', 'list']);
  expect(out).toMatch(/^NAME +DOMAINS +PORTS +HEADER +PLACEHOLDER +ENV +SET +USED\n/);
  expect(out).toMatch(
    /token +api\.example\.com \*\.example\.com +443 8443 +Authorization +csn-secret-\S+ +TOKEN +.* never/,
  );
  for (const { name } of await list()) expect((await world.run(['secret', 'delete', name])).out).toBe(`${name}\n`);
  expect((await world.run(['secret', 'list'])).out).toBe('no secrets\n');
  expect(await world.run(['secret', 'delete', 'token'])).toMatchObject({ code: 66 });
});

test('the log of the server and everything else that it keeps has no value', () => {
  const kept = readdirSync(world.data).filter((name) => /\.(log|db|db-wal|json|key)$/.test(name));
  expect(kept).toContain('server.log');
  expect(kept.filter((name) => readFileSync(join(world.data, name)).includes(value))).toEqual([]);
});
