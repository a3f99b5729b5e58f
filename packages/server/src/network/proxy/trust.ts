import { readFileSync } from 'node:fs';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';

/** Where distributions keep the roots that the machine trusts. */
const bundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];

/** Whom we believe when we begin TLS ourselves. Made once: reading all roots takes longer than a handshake. */
export class Trust {
  readonly #extra: readonly string[];
  #context: SecureContext | undefined;

  constructor(extra: readonly string[] = []) {
    this.#extra = extra;
  }

  context(): SecureContext {
    this.#context ??= createSecureContext({ ca: [...rootCertificates, ...machineRoots(), ...this.#extra] });
    return this.#context;
  }
}

function machineRoots(): string[] {
  for (const path of bundles) {
    try {
      return [readFileSync(path, 'utf8')];
    } catch {
      // The next distribution.
    }
  }
  return [];
}
