import { expect, test } from 'vitest';
import { parseHosts } from './machine-resolver.ts';
import { Names } from './names.ts';

test('a name is asked for once, and those who ask at the same time share the answer', async () => {
  const asked: string[] = [];
  const names = new Names({
    resolve: async (name) => {
      asked.push(name);
      await new Promise((soon) => setImmediate(soon));
      return ['192.0.2.1'];
    },
  });
  expect(await Promise.all([names.addresses('a.com'), names.addresses('a.com')])).toEqual([
    ['192.0.2.1'],
    ['192.0.2.1'],
  ]);
  expect(await names.addresses('a.com')).toEqual(['192.0.2.1']);
  expect(asked).toEqual(['a.com']);
});

test('a lookup that fails finds nothing, and may be asked again', async () => {
  const names = new Names({ resolve: () => Promise.reject(new Error('no')) });
  expect(await names.addresses('a.com')).toEqual([]);
  expect(await names.addresses('a.com')).toEqual([]);
});

test('one sandbox has only so many lookups under way', async () => {
  const release: (() => void)[] = [];
  const names = new Names({
    resolve: () => new Promise((done) => release.push(() => done([]))),
  });
  const asked = Array.from({ length: 32 }, (_, n) => names.addresses(`n${n}.com`));
  expect(await names.addresses('more.com')).toBeUndefined();
  for (const done of release) done();
  await Promise.all(asked);
  const later = names.addresses('more.com');
  release.at(-1)?.();
  expect(await later).toEqual([]);
});

test('a hosts file gives names their addresses, and what cannot be read is left out', () => {
  const hosts = parseHosts(
    '# comment\n192.0.2.1 One.example two.example # more\n2001:db8::1 one.example\nnonsense x.example\n127.0.0.1 localhost\n',
  );
  expect(hosts.get('one.example')).toEqual(['192.0.2.1', '2001:db8::1']);
  expect(hosts.get('two.example')).toEqual(['192.0.2.1']);
  expect([...hosts.keys()].sort()).toEqual(['one.example', 'two.example']);
});
