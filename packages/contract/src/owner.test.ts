import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Owner, ownerFromLabels, ownerLabels, sameOwner } from './owner.ts';

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
const owner: fc.Arbitrary<Owner> = fc
  .record({ tenant: name, project: name, principal: name, scope: fc.option(name, { nil: undefined }) })
  .map(({ scope, ...rest }) => (scope === undefined ? rest : { ...rest, scope }));

test('an owner can be recovered from its labels, whatever other labels there are', () => {
  fc.assert(
    fc.property(owner, fc.dictionary(fc.string(), fc.string()), (given, others) => {
      expect(
        ownerFromLabels({ ...others, ...ownerLabels(given), ...(given.scope ? {} : { 'caisson.scope': '' }) }),
      ).toEqual(given.scope ? given : undefined);
      const { 'caisson.scope': _, ...clean } = others;
      expect(ownerFromLabels({ ...clean, ...ownerLabels(given) })).toEqual(given);
    }),
  );
});

test.each(['caisson.tenant', 'caisson.project', 'caisson.principal'])('without %s nobody is the owner', (missing) => {
  const labels = ownerLabels({ tenant: 't', project: 'p', principal: 'x' });
  delete labels[missing];
  expect(ownerFromLabels(labels)).toBeUndefined();
});

test('owners are the same only when every part is', () => {
  const one: Owner = { tenant: 't', project: 'p', principal: 'x' };
  expect(sameOwner(one, { ...one })).toBe(true);
  for (const part of ['tenant', 'project', 'principal', 'scope'] as const) {
    expect(sameOwner(one, { ...one, [part]: 'other' })).toBe(false);
  }
});
