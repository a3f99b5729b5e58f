import { CaissonError } from '@caisson/contract';

const keyPattern = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z0-9 ]*PRIVATE KEY-----/;

export interface SshSecret {
  readonly key: string;
  /** Lines as in a file of known hosts; perhaps none. */
  readonly knownHosts: string;
}

/**
 * A secret is one line, and a key is many: it is stored in base64. What stands besides the key are lines of known hosts.
 */
export function readSshSecret({ name, value }: { readonly name: string; readonly value: string }): SshSecret {
  const text = Buffer.from(value, 'base64').toString('latin1');
  const [key] = keyPattern.exec(text) ?? [];
  if (key === undefined)
    throw new CaissonError('source_denied', `the secret \`${name}\` is no private key`, {
      hint: `Store key and known hosts in base64: \`cat key known_hosts | base64 -w0 | caisson secret set ${name} …\`.`,
    });
  const rest = text.replace(keyPattern, '').split(/\r?\n/);
  const knownHosts = rest.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  return { key: `${key.replace(/\r/g, '')}\n`, knownHosts: knownHosts.map((line) => `${line}\n`).join('') };
}
