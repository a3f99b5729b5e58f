import { newId } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { expect, test } from 'vitest';
import { containerConfig, environmentMark } from './container-config.ts';
import { engineKinds } from './engine-kind.ts';

const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' } });
const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
const requestWith = (env: Record<string, string>) => ({
  key: { sandbox: newId('sandbox'), incarnation: 1 },
  owner,
  labels: {},
  blueprint,
  env,
});

function configOn(kind: 'docker' | 'podman', imageEnv: Record<string, string>) {
  const { environment } = engineKinds[kind];
  const input = { image: 'sha256:0', volume: 'guest', runtime: undefined, processors: 1, securityOptions: [] };
  return containerConfig({ ...input, request: requestWith({ A: '1' }), imageEnv, environment });
}

test('what the image would add and the launch does not have is unset, but for where programs are found', () => {
  const imageEnv = { A: 'old', TOKEN: 'x', PATH: '/bin' };
  expect(configOn('docker', imageEnv)).toMatchObject({ Env: ['A=1', 'TOKEN'] });
  // A name alone would be looked up in the environment of Podman's service.
  expect(configOn('podman', imageEnv)).toMatchObject({ Env: ['A=1'], UnsetEnv: ['TOKEN'] });
});

test('an environment is known by its mark, whatever the order', () => {
  const mark = environmentMark(requestWith({ A: '1', B: '2' }));
  expect(environmentMark(requestWith({ B: '2', A: '1' }))).toBe(mark);
  expect(environmentMark(requestWith({ A: '1' }))).not.toBe(mark);
  expect(environmentMark(requestWith({ A: '1=2', B: '' }))).not.toBe(environmentMark(requestWith({ A: '1', B: '2' })));
});
