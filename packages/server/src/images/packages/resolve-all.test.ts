import { expect, test, vi } from 'vitest';
import { type PackageNameClient, PackageNameService } from './name-service.ts';
import { resolvePackages } from './resolve-all.ts';

const fedora = { distribution: 'fedora', release: '42' } as const;
const { signal } = new AbortController();

function serviceOf(lookup: PackageNameClient['lookup'], options: { now?: () => number; maxKept?: number } = {}) {
  const asked = vi.fn(lookup);
  return { asked, service: new PackageNameService({ client: { lookup: asked }, timeoutMs: 50, ...options }) };
}

test('the service is asked only for what nothing else knows', async () => {
  const { asked, service } = serviceOf(async () => ['cowsay']);
  const answers = await resolvePackages([{ id: 'git' }, { id: 'talking-cow' }], fedora, { service }, signal);
  expect(answers.map(({ status }) => status)).toEqual(['resolved', 'resolved']);
  expect(answers[1]).toMatchObject({ id: 'talking-cow', nativeNames: ['cowsay'], from: 'service', verified: false });
  expect(asked).toHaveBeenCalledTimes(1);
});

test('several names of the service are candidates', async () => {
  const { service } = serviceOf(async () => ['cowsay', 'cowthink']);
  expect(await resolvePackages([{ id: 'cow' }], fedora, { service }, signal)).toMatchObject([
    { status: 'ambiguous', candidates: [{ id: 'dnf:cowsay' }, { id: 'dnf:cowthink' }] },
  ]);
});

test.each([
  ['names that are none', async () => ['--allowerasing', 'a b', '$(reboot)', '../x', 'x\ny']],
  ['something else', async () => ({ name: 'cowsay' })],
  ['a failure', async () => Promise.reject(new Error('away'))],
  ['nothing, ever', () => new Promise<never>(() => {})],
  ['more than anybody reads', async () => Array.from({ length: 100_000 }, (_, n) => `p${n}`)],
])('a service that answers %s is as if it were not there', async (_, lookup) => {
  const { service } = serviceOf(lookup);
  expect(await resolvePackages([{ id: 'cow' }], fedora, { service }, signal)).toMatchObject([{ status: 'not-found' }]);
});

test('a name that the index does not have is not taken from the service', async () => {
  const { service } = serviceOf(async () => ['cowsay']);
  const index = { name: 'an empty index', versionsOf: () => [] };
  expect(await resolvePackages([{ id: 'cow' }], fedora, { service, index }, signal)).toMatchObject([
    { status: 'not-found' },
  ]);
});

test('an answer is kept until it expires, and no more answers than there is room for', async () => {
  let now = 0;
  const { asked, service } = serviceOf(async () => ['cowsay'], { now: () => now, maxKept: 2 });
  await service.namesFor('a', fedora, signal);
  await service.namesFor('a', fedora, signal);
  expect(asked).toHaveBeenCalledTimes(1);
  now = 25 * 3_600_000;
  await service.namesFor('a', fedora, signal);
  expect(asked).toHaveBeenCalledTimes(2);
  for (const word of ['b', 'c', 'a']) await service.namesFor(word, fedora, signal);
  expect(asked).toHaveBeenCalledTimes(5);
});

test('a spec full of unknown names asks a bounded number of times', async () => {
  const { asked, service } = serviceOf(async () => []);
  const queries = Array.from({ length: 100 }, (_, n) => ({ id: `unknown-thing-${n}` }));
  await resolvePackages(queries, fedora, { service }, signal);
  expect(asked).toHaveBeenCalledTimes(20);
});

test('near names are looked for a bounded number of times', async () => {
  const queries = Array.from({ length: 30 }, () => ({ id: 'ripgerp' }));
  const answers = await resolvePackages(queries, fedora, {}, signal);
  expect(answers.filter((answer) => answer.status === 'not-found' && answer.nearest.length > 0)).toHaveLength(10);
});

test('whoever gives up does not wait for the service', async () => {
  const { service } = serviceOf(() => new Promise<never>(() => {}));
  const leaving = AbortSignal.abort(new Error('left'));
  await expect(resolvePackages([{ id: 'cow' }], fedora, { service }, leaving)).rejects.toThrow('left');
});
