import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** An authority of a test's own, and certificates by it for some names. */
export function makeCertificates(...names: string[]): { authority: string; of: (name: string) => Certificate } {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-certs-'));
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-subj',
      '/CN=test authority',
      '-days',
      '2',
    );
    const made = new Map<string, Certificate>();
    for (const name of names) {
      writeFileSync(file('ext'), `subjectAltName=${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}\n`);
      openssl('req', ...newKey, '-keyout', 'key', '-out', 'csr', '-subj', `/CN=${name}`);
      openssl(
        ...['x509', '-req', '-in', 'csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'],
        ...['-extfile', 'ext', '-out', 'crt'],
      );
      made.set(name, { cert: readFileSync(file('crt'), 'utf8'), key: readFileSync(file('key'), 'utf8') });
    }
    const authority = readFileSync(file('ca.crt'), 'utf8');
    return {
      authority,
      of(name) {
        const found = made.get(name);
        if (!found) throw new Error(`there is no certificate for ${name}`);
        return found;
      },
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
