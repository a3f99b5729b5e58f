import { type Endpoint, endpointText } from './endpoint.ts';

/** Why an engine does not answer, in one sentence, and what to do about it. */
export interface Away {
  readonly why: string;
  readonly fix: string;
}

/** No more of what somebody else said is of use in a sentence. */
const saidMax = 300;

const elsewhere = 'correct its address: `--docker-host`, `--podman-host`, DOCKER_HOST or CONTAINER_HOST';
const running = `Start it, or ${elsewhere}.`;
const machine = 'Check that the machine is up and can be reached from here, and its firewall.';
export const certificates =
  'Set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH to a folder with the `ca.pem`, `cert.pem` and `key.pem` for this engine.';

/** By the code of what the system or Node said. `where` is the address. */
const byCode: Readonly<Record<string, (where: string) => Away>> = {
  ENOENT: (where) => ({ why: `there is no engine at ${where}: the socket does not exist`, fix: running }),
  ECONNREFUSED: (where) => ({ why: `there is no engine at ${where}: nobody listens there`, fix: running }),
  EACCES: (where) => ({
    why: `this server may not open ${where}`,
    fix: 'Run it as a user who may: a member of the group of the socket, or root.',
  }),
  ENOTFOUND: (where) => ({ why: `the host of ${where} is not known`, fix: `Check the name, or ${elsewhere}.` }),
  EHOSTUNREACH: (where) => ({ why: `the machine of ${where} cannot be reached`, fix: machine }),
  ENETUNREACH: (where) => ({ why: `the machine of ${where} cannot be reached`, fix: machine }),
  ETIMEDOUT: (where) => ({ why: `the machine of ${where} does not answer`, fix: machine }),
  ECONNRESET: (where) => ({
    why: `the engine at ${where} ended the connection before it had answered`,
    fix: 'It may have ended, or want TLS: look at its log.',
  }),
  EPIPE: (where) => ({
    why: `the engine at ${where} ended the connection before it had answered`,
    fix: 'It may have ended, or want TLS: look at its log.',
  }),
};
const aliases: Readonly<Record<string, string>> = { EPERM: 'EACCES', EAI_AGAIN: 'ENOTFOUND', ENOTSOCK: 'ECONNREFUSED' };

/** Codes of Node and OpenSSL for a handshake that failed, whoever of the two did not believe the other. */
const tlsForm = /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$|HOSTNAME_MISMATCH)/;

/** Why nothing came from the engine; of one that is late, after how long. */
export function whyAway(endpoint: Endpoint, error: unknown, lateMs?: number): Away {
  const where = endpointText(endpoint);
  if (lateMs !== undefined)
    return {
      why: `the engine at ${where} did not answer within ${Math.round(lateMs / 100) / 10} s`,
      fix: 'It hangs or has too much to do: look at its log, and start it again if nothing moves.',
    };
  const { message = String(error), code = '', path } = error as NodeJS.ErrnoException;
  const said = message.replace(/\s+/g, ' ').trim().slice(0, saidMax);
  if (endpoint.kind === 'ssh') return overSsh(where, code, said);
  if (endpoint.kind === 'tcp' && endpoint.tls) {
    if (path?.startsWith(endpoint.tls.folder))
      return { why: `the certificates for ${where} cannot be read: ${said}`, fix: certificates };
    // One that does not believe us may say so only after it took what was sent.
    if (tlsForm.test(code) || /\balert\b/.test(said))
      return { why: `the engine at ${where} and this server do not trust each other: ${said}`, fix: certificates };
  }
  if (code.startsWith('HPE_'))
    return {
      why: `what listens at ${where} is no engine: it does not speak HTTP`,
      fix: `Look what it is, or ${elsewhere}.`,
    };
  return (
    byCode[aliases[code] ?? code]?.(where) ?? { why: `the engine at ${where} does not answer: ${said}`, fix: running }
  );
}

function overSsh(where: string, code: string, said: string): Away {
  if (code === 'ENOENT')
    return { why: `${where} needs the program ssh, which is not here`, fix: 'apt-get install openssh-client' };
  const fix =
    'Try `ssh` to it by hand, as the user of this server: the host must be known, the key needs no password, and the command of the engine must be there.';
  return { why: `the engine at ${where} cannot be reached by ssh: ${said}`, fix };
}
