import type { DataFolder } from './data-folder.ts';
import type { EgressSecrets } from './network/egress.ts';
import { Authority } from './network/secrets/authority.ts';
import { EgressVault } from './network/secrets/bound-secrets.ts';
import { InsideSecrets } from './network/secrets/inside-secrets.ts';
import { ProjectSecrets } from './network/secrets/project-secrets.ts';
import { Secrets } from './network/secrets/secrets.ts';
import { Vault } from './network/secrets/vault.ts';
import type { KeySource } from './network/secrets/vault-key.ts';
import type { Store } from './store/store.ts';
import type { Logger } from './telemetry/log.ts';

/** Where the key of secrets is, when it is not a file in the data folder. */
export interface SecretsKey {
  /** 32 bytes in base64. */
  readonly text?: string | undefined;
  readonly file?: string | undefined;
}

/** Everything that has to do with secrets. */
export interface SecretParts {
  readonly vault: Vault;
  readonly secrets: Secrets;
  readonly egress: EgressSecrets;
  readonly inside: InsideSecrets;
  /** Opened, for whoever uses one for the server itself. */
  readonly projects: ProjectSecrets;
}

export function openSecrets(
  folder: DataFolder,
  store: Store,
  options: {
    readonly key?: SecretsKey | undefined;
    readonly log?: Pick<Logger, 'warn'> | undefined;
  },
): SecretParts {
  const { log } = options;
  const vault = new Vault(keySource(folder, options.key));
  const projects = new ProjectSecrets(store.secrets, vault, ({ tenant, project, name }, error) =>
    log?.warn({ tenant, project, name, why: error.message }, 'a secret cannot be read'),
  );
  const authority = new Authority(folder.path, vault);
  const missing = (sandbox: string, name: string) =>
    log?.warn({ sandbox, name }, 'the rules name a secret that is not there; requests go out without it');
  return {
    vault,
    secrets: new Secrets(store.secrets, vault, projects),
    egress: new EgressVault({ projects, store: store.secrets, authority, missing }),
    inside: new InsideSecrets({ projects, authority }),
    projects,
  };
}

function keySource(folder: DataFolder, key: SecretsKey = {}): KeySource {
  if (key.file !== undefined) return { kind: 'file', path: key.file };
  if (key.text !== undefined) return { kind: 'text', text: key.text, name: 'CAISSON_SECRETS_KEY' };
  return { kind: 'own', path: folder.file('secrets.key') };
}
