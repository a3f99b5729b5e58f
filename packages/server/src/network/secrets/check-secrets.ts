import { CaissonError, type Doctor } from '@caisson/contract';
import type { SecretStore } from '../../store/secrets.ts';
import { sealedUnder } from './project-secrets.ts';
import type { Vault } from './vault.ts';

const shownNames = 5;

/** For `doctor`: whether every stored secret can be read with the key that this server has. */
export async function checkSecrets(store: SecretStore, vault: Vault): Promise<Doctor['checks'][number]> {
  const name = 'secrets';
  const rows = await store.sealed();
  const failed = rows.flatMap((row) => {
    try {
      vault.open(row.sealed, sealedUnder(row));
      return [];
    } catch (error) {
      if (!(error instanceof CaissonError)) throw error;
      return [{ name: `${row.tenant}/${row.project}/${row.name}`, why: error.message }];
    }
  });
  const [first] = failed;
  if (!first) {
    const detail = rows.length === 0 ? 'none stored' : `${rows.length} stored; the key is that of ${vault.place}`;
    return { name, ok: true, detail, fix: null };
  }
  const names = failed.slice(0, shownNames).map((one) => one.name);
  const more = failed.length > names.length ? ', …' : '';
  return {
    name,
    ok: false,
    detail: `${failed.length} of ${rows.length} cannot be read (${names.join(', ')}${more}): ${first.why}`,
    fix: 'Give the server the key that they were stored with (CAISSON_SECRETS_KEY or --secrets-key-file), or set them again.',
  };
}
