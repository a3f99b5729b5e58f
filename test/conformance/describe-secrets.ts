import { maxSecrets } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import type { NewSecret } from '../../packages/server/src/store/secrets.ts';
import type { Store } from '../../packages/server/src/store/store.ts';

let places = 0;

function newSecret(change: Partial<NewSecret> = {}): NewSecret {
  return {
    tenant: 'acme',
    project: 'web',
    name: 'token',
    sealed: 'sealed',
    domains: ['example.com', '*.example.com'],
    ports: [443, 8443],
    header: { name: 'X-Key', format: 'é {}' },
    placeholder: null,
    keepsPlaceholder: false,
    env: null,
    ...change,
  };
}

/** The laws of stored secrets, on whichever store. */
export function describeSecrets(open: () => Store): void {
  const project = () => {
    places += 1;
    return { tenant: 'acme', project: `secrets-${places}` };
  };

  describe('secrets', () => {
    test('a secret is read as it was written, sealed for the way out and without its value for everybody else', async () => {
      const { secrets } = open();
      const place = project();
      const shown = await secrets.put(newSecret({ ...place, env: 'TOKEN', placeholder: 'placeholder' }), 1_000);
      const time = '1970-01-01T00:00:01.000Z';
      expect(shown).toEqual({
        name: 'token',
        domains: ['example.com', '*.example.com'],
        ports: [443, 8443],
        header: 'X-Key',
        placeholder: 'placeholder',
        env: 'TOKEN',
        createdAt: time,
        updatedAt: time,
        lastUsedAt: null,
      });
      expect(await secrets.list(place)).toEqual([shown]);
      const { keepsPlaceholder: _, ...stored } = newSecret({ ...place, env: 'TOKEN', placeholder: 'placeholder' });
      expect(await secrets.sealed(place)).toEqual([stored]);
      expect(await secrets.sealed()).toContainEqual(stored);
    });

    test('a secret is replaced whole, but for when it was made, when it was used, and a placeholder that it keeps', async () => {
      const { secrets } = open();
      const place = project();
      await secrets.put(newSecret({ ...place, placeholder: 'first', env: 'A' }), 1_000);
      await secrets.used(place, 'token', 1_500);
      const kept = await secrets.put(
        newSecret({ ...place, placeholder: 'made-up', keepsPlaceholder: true, header: null }),
        2_000,
      );
      expect(kept).toMatchObject({ placeholder: 'first', env: null, header: null });
      expect([kept.createdAt, kept.updatedAt, kept.lastUsedAt].map((time) => Date.parse(time ?? ''))).toEqual([
        1_000, 2_000, 1_500,
      ]);
      expect(await secrets.put(newSecret({ ...place, placeholder: null }))).toMatchObject({ placeholder: null });
      const made = await secrets.put(newSecret({ ...place, placeholder: 'made-up', keepsPlaceholder: true }));
      expect(made.placeholder).toBe('made-up');
      expect(await secrets.list(place)).toHaveLength(1);
    });

    test('many who write the same secret at once leave one', async () => {
      const { secrets } = open();
      const place = project();
      const writes = Array.from({ length: 8 }, (_, n) => secrets.put(newSecret({ ...place, sealed: `s${n}` })));
      await Promise.all(writes);
      expect(await secrets.sealed(place)).toHaveLength(1);
    });

    test('projects and tenants have secrets of their own under the same name', async () => {
      const { secrets } = open();
      const [one, two] = [project(), project()];
      await secrets.put(newSecret(one));
      expect(await secrets.list(two)).toEqual([]);
      expect(await secrets.list({ ...one, tenant: 'evil' })).toEqual([]);
      expect(await secrets.delete(two, 'token')).toBeUndefined();
      expect(await secrets.delete({ ...one, tenant: 'evil' }, 'token')).toBeUndefined();
      expect(await secrets.delete(one, 'token')).toMatchObject({ name: 'token' });
      expect(await secrets.list(one)).toEqual([]);
    });

    test('a project has so many secrets and no more, and can still replace those', async () => {
      const { secrets } = open();
      const place = project();
      for (let n = 0; n < maxSecrets; n += 1) await secrets.put(newSecret({ ...place, name: `n${n}` }));
      await expect(secrets.put(newSecret(place))).rejects.toMatchObject({ code: 'quota_exceeded' });
      await secrets.put(newSecret({ ...place, name: 'n0', sealed: 'new' }));
      expect(await secrets.list(place)).toHaveLength(maxSecrets);
    }, 120_000);
  });
}
