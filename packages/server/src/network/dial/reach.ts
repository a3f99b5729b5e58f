import type { Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { CaissonError, type EgressRefusal, type NetworkRules } from '@caisson/contract';
import type { Resolver } from '../egress.ts';
import type { Trust } from '../proxy/trust.ts';
import type { ClosedAddresses } from '../rules/closed-addresses.ts';
import { hostText, type Target, targetText } from '../rules/host.ts';
import { compileRules, type Ruling } from '../rules/rules.ts';
import { dialFirst } from './dial.ts';

/** A handshake that takes longer is not going to end. */
const handshakeMs = 15_000;

export interface ReachParts {
  readonly resolver: Resolver;
  readonly closed: ClosedAddresses;
  readonly trust: Trust;
}

/**
 * What the server itself reaches on behalf of a spec: by the rules of that spec, as if a program in its sandbox asked, and
 * with the same closed addresses. Before there is a sandbox nothing else could say what may be reached.
 */
export class Reach {
  readonly #parts: ReachParts;

  constructor(parts: ReachParts) {
    this.#parts = parts;
  }

  /** Where the target may be dialled. The name is resolved here once: nobody resolves it again to another address. */
  async addresses(rules: NetworkRules, target: Target, signal: AbortSignal): Promise<readonly string[]> {
    const compiled = compileRules(rules, this.#parts.closed);
    const before = compiled.decideTarget(target);
    if (!before.allowed) throw refused(target, before);
    const { host } = target;
    const found = host.kind === 'address' ? [host.address] : await this.#parts.resolver.resolve(host.name, signal);
    const rulings = found.map((address) => ({ address, ruling: compiled.decideAddress(target, address) }));
    const allowed = rulings.filter(({ ruling }) => ruling.allowed).map(({ address }) => address);
    if (allowed.length > 0) return allowed;
    const [first] = rulings;
    if (first && !first.ruling.allowed) throw refused(target, first.ruling);
    throw new CaissonError('source_unreachable', `the name ${hostText(host)} is not known`);
  }

  async connect(rules: NetworkRules, target: Target, isTls: boolean, signal: AbortSignal): Promise<Socket> {
    const dialled = await dialFirst(await this.addresses(rules, target, signal), target.port, signal);
    signal.throwIfAborted();
    if (!dialled) throw new CaissonError('source_unreachable', `${targetText(target)} does not answer`);
    return isTls ? await this.#secure(dialled.socket, target, signal) : dialled.socket;
  }

  #secure(socket: Socket, { host }: Target, signal: AbortSignal): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const secureContext = this.#parts.trust.context();
      const servername = host.kind === 'name' ? host.name : '';
      // An address is checked against the certificate too.
      const secure = connectTls({ socket, servername, host: hostText(host), secureContext });
      const fail = (error: Error) => {
        settle();
        secure.destroy();
        const why = `the TLS of ${hostText(host)} failed: ${error.message}`;
        reject(signal.aborted ? signal.reason : new CaissonError('source_unreachable', why, { cause: error }));
      };
      const abort = () => fail(new Error('it was left'));
      const timer = setTimeout(() => fail(new Error('it took too long')), handshakeMs);
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      };
      signal.addEventListener('abort', abort, { once: true });
      // It stays: whoever is given the socket may not have listened yet when it fails.
      secure.on('error', fail);
      secure.once('secureConnect', () => {
        settle();
        resolve(secure);
      });
    });
  }
}

const reasons: Partial<Record<EgressRefusal, string>> = {
  network_off: 'the network of the spec is off',
  not_allowed: 'the network rules of the spec do not allow it',
  denied: 'the network rules of the spec deny it',
  private_address: 'it is a private address, which only the operator opens (`--egress-open`)',
};

function refused(target: Target, ruling: Exclude<Ruling, { allowed: true }>): CaissonError {
  const { why, suggestion } = ruling;
  const hint = suggestion ?? (why === 'network_off' ? targetText(target) : undefined);
  const said = reasons[why] ?? `it is refused (${why})`;
  return new CaissonError('source_unreachable', `${targetText(target)} is not reached: ${said}`, {
    ...(hint === undefined ? {} : { hint: `Allow it: \`runtime.network: {mode: allowlist, allow: ['${hint}']}\`.` }),
  });
}
