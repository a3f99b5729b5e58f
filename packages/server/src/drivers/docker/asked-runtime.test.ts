import { expect, test } from 'vitest';
import { answering, scriptedEngine } from '../../../../../test/scripted-engine.ts';
import { requireRuntime } from './asked-runtime.ts';
import { engineKinds } from './engine-kind.ts';

const never = new AbortController().signal;

test.each([
  ['docker', { HostConfig: { Runtime: 'runsc' } }, undefined],
  ['docker', { HostConfig: { Runtime: 'runc' } }, /took runc/],
  ['docker', { HostConfig: null }, /does not say/],
  ['podman', { OCIRuntime: '/usr/bin/runsc', HostConfig: { Runtime: 'oci' } }, undefined],
  ['podman', { OCIRuntime: 'runc', HostConfig: { Runtime: 'oci' } }, /took runc/],
  ['podman', { HostConfig: { Runtime: 'oci' } }, /took oci/],
  ['podman', undefined, /does not say/],
] as const)('%s that says %o of a container that was to have runsc', async (kind, said, problem) => {
  const { runtimePath } = engineKinds[kind];
  const { engine, close } = await scriptedEngine(answering(said ? { [runtimePath('one')]: said } : {}));
  try {
    const looking = requireRuntime(engine, engineKinds[kind], 'one', 'runsc', never);
    if (problem === undefined) await looking;
    else
      await expect(looking).rejects.toMatchObject({ code: 'driver_failed', message: expect.stringMatching(problem) });
  } finally {
    close();
  }
});
