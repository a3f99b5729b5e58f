import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { bitString, bits, implicit, integer, octets, oid, sequence, set, tagged, time, truth, utf8 } from './der.ts';

/**
 * Certificates of one fixed form: EC keys, SHA-256, the extensions that strict clients ask for. Written here because the
 * libraries for it bring twenty packages and a change of a global object, for a structure that never varies; keys and
 * signatures are Node's.
 */
export interface CertificateInput {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly issuer: { readonly subject: string; readonly key: KeyObject };
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The host that it is for; an authority has none. */
  readonly host?: string | undefined;
}

const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
const serverAuth = oid('1.3.6.1.5.5.7.3.1');
const digitalSignature = 0;
const keyCertSign = 5;
const crlSign = 6;

export function makeCertificate(input: CertificateInput): string {
  const { subject, publicKey, issuer } = input;
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(serial()),
    ecdsaWithSha256,
    nameOf(issuer.subject),
    sequence(time(input.notBefore), time(input.notAfter)),
    nameOf(subject),
    spki(publicKey),
    tagged(3, sequence(...extensions(input))),
  );
  const signature = sign('sha256', body, issuer.key);
  return pem(sequence(body, ecdsaWithSha256, bitString(signature)));
}

function extensions({ publicKey, issuer, host }: CertificateInput): Buffer[] {
  const common = [extension('2.5.29.14', octets(keyIdentifier(publicKey)))];
  if (host === undefined) {
    return [
      extension('2.5.29.19', sequence(truth(), integer(Buffer.from([0]))), 'critical'),
      extension('2.5.29.15', bits([keyCertSign, crlSign]), 'critical'),
      ...common,
    ];
  }
  return [
    extension('2.5.29.19', sequence(), 'critical'),
    extension('2.5.29.15', bits([digitalSignature]), 'critical'),
    extension('2.5.29.37', sequence(serverAuth)),
    extension('2.5.29.17', sequence(implicit(2, Buffer.from(host, 'latin1')))),
    ...common,
    extension('2.5.29.35', sequence(implicit(0, keyIdentifier(createPublicKey(issuer.key))))),
  ];
}

function extension(id: string, content: Buffer, critical?: 'critical'): Buffer {
  return sequence(oid(id), ...(critical ? [truth()] : []), octets(content));
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(oid('2.5.4.3'), utf8(commonName))));
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash('sha256').update(spki(key)).digest().subarray(0, 20);
}

/** Random, positive and of one length. */
function serial(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
