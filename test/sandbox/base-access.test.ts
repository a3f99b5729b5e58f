import { localOwner, type Profile } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Caller } from '../../packages/server/src/tenancy/caller.ts';
import { newAttempt, newSandbox, noLimits } from '../conformance/store-fixtures.ts';
import { ada, type ControlPlane, controlPlane, patient } from './control-plane.ts';

const operator: Caller = { owner: localOwner, scope: 'admin', key: null };
const specOf = (reference: string) => ({ source: { kind: 'none' }, os: { family: 'image', reference } });
const given: Profile = { name: 'given', version: 1, sourceRequired: false, spec: specOf('oci:/srv/tools') };
const open: Profile = {
  name: 'open',
  version: 1,
  sourceRequired: false,
  inputs: { image: { type: 'string', required: true } },
  spec: specOf('${inputs.image}'),
};

let plane: ControlPlane;
beforeEach(async () => {
  plane = await controlPlane({ deadlines: patient, profiles: [given, open] });
});
afterEach(() => plane.close());

const create = (caller: Caller, change: object) => plane.sandboxes.create(caller, { waitSeconds: 120, ...change });

test.each(['oci:/srv/tools', 'oci-archive:/etc/x.tar', 'docker-archive:/x.tar:a', 'oci:/a\nb'])(
  'an image by the path %j is for the operator alone',
  async (reference) => {
    const spec = specOf(reference);
    const refused = { code: expect.stringMatching(/operator_needed|spec_invalid/) };
    await expect(create(ada, { spec })).rejects.toMatchObject(refused);
    await expect(plane.sandboxes.ensure(ada, { spec, waitSeconds: 120 })).rejects.toMatchObject(refused);
    await expect(plane.sandboxes.explain(ada, { spec, waitSeconds: 120 })).rejects.toMatchObject(refused);
    await expect(create({ ...operator, scope: 'use' }, { spec })).rejects.toMatchObject(refused);
    expect(await plane.sandboxes.list(ada, { destroyedToo: true, limit: 5 })).toEqual([]);
  },
);

test('the operator may name one, and gives it to others by a profile, whose inputs do not', async () => {
  expect((await create(operator, { spec: specOf('oci:/srv/tools') })).sandbox.state).toBe('ready');
  expect((await create(ada, { profile: 'given' })).sandbox.state).toBe('ready');
  const inputs = { image: 'oci:/srv/other' };
  await expect(create(ada, { profile: 'open', inputs })).rejects.toMatchObject({ code: 'operator_needed' });
  const spec = { os: { family: 'image', reference: 'oci:/srv/other' } };
  await expect(create(ada, { profile: 'given', spec })).rejects.toMatchObject({ code: 'operator_needed' });
});

test('a record that names one for a tenant is not launched, however it came to be', async () => {
  const attempt = { ...newAttempt(), blueprint: normalizeUserWorkspaceSpec(specOf('oci:/srv/tools')) };
  const { sandbox } = await plane.store.sandboxes.create(newSandbox({ owner: ada.owner }), attempt, noLimits);
  await plane.settle();
  expect(await plane.sandboxes.get(ada, sandbox.id)).toMatchObject({
    state: 'failed',
    reason: { message: expect.stringContaining('path of the machine') },
  });
});
