import { expect, test } from 'vitest';
import type { Builder } from './images/builders/builder.ts';
import { Images } from './images/images.ts';
import { type BuildkitWiring, chooseBuilder, openBuildkitBuilder } from './open-buildkit.ts';
import { RoomSubjects } from './sandbox/building/room-subjects.ts';

const wiring: BuildkitWiring = {
  images: new Images({ folder: '/nowhere', guestProgram: '/nowhere' }),
  guestProgram: () => '/nowhere',
  engines: {},
  installation: 'test',
  gates: { admit() {}, forget() {} },
  subjects: new RoomSubjects({ find: async () => undefined }),
};
const named = (name: Builder['name']) => ({ name }) as Builder;

test('the native builder comes first, and one that was asked for and is not there is none', () => {
  const both = [named('buildkit'), named('native')];
  expect(chooseBuilder(both)?.name).toBe('native');
  expect(chooseBuilder(both, 'buildkit')?.name).toBe('buildkit');
  expect(chooseBuilder([named('buildkit')])?.name).toBe('buildkit');
  expect(chooseBuilder([named('native')], 'buildkit')).toBeUndefined();
  expect(chooseBuilder([])).toBeUndefined();
});

test('an address that is none ends the server only where BuildKit was asked for', () => {
  const engines = { buildkitHost: 'ssh://somewhere' };
  expect(openBuildkitBuilder({ ...wiring, engines })).toBeUndefined();
  expect(() => openBuildkitBuilder({ ...wiring, engines, wanted: 'buildkit' })).toThrow('unix:///path');
  expect(() => openBuildkitBuilder({ ...wiring, engines: { dockerHost: 'nonsense' }, wanted: 'buildkit' })).toThrow(
    'not valid',
  );
  expect(openBuildkitBuilder({ ...wiring, images: undefined })).toBeUndefined();
});

test('where nobody answers the builder says where it looked and what would help', async () => {
  const opened = openBuildkitBuilder({ ...wiring, engines: { dockerHost: 'unix:///nowhere/docker.sock' } });
  const trouble = await opened?.builder.probe(AbortSignal.timeout(10_000));
  expect(trouble?.why).toContain('unix:///nowhere/docker.sock');
  expect(trouble?.fix).toContain('apt-get install docker.io');
  opened?.close();
});
