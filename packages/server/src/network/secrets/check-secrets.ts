import { CaissonError, type Doctor } from '@caisson/contract';
import type { SecretStore } from '../../store/secrets.ts';
import { sealedUnder } from './project-secrets.ts';
import type { Vault } from './vault.ts';

/**
 * For `doctor`: whether every stored secret can be read with the key that this server has. Whoever may read asks it, so
 * it tells neither whose they are nor how many.
 */
export async function checkSecrets(store: SecretStore, vault: Vault): Promise<Doctor['checks'][number]> {
  const name = 'secrets';
  const rows = await store.sealed();
  for (const row of rows) {
    try {
      vault.open(row.sealed, sealedUnder(row));
    } catch (error) {
      if (!(error instanceof CaissonError)) throw error;
      const fix =
        'Give the server the key that they were stored with (CAISSON_SECRETS_KEY or --secrets-key-file), or set them again.';
      return { name, ok: false, detail: `a stored one cannot be read: ${error.message}`, fix };
    }
  }
  const detail = rows.length === 0 ? 'none stored' : `can be read with the key of ${vault.place}`;
  return { name, ok: true, detail, fix: null };
}
