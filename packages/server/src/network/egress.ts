import type { EgressRefusal, Id, NetworkRules, Owner } from '@caisson/contract';

/**
 * The way out of a sandbox. No packet leaves it: programs inside speak to a proxy on its loopback, the guest carries each
 * connection here byte by byte, and the server reads what is wanted, decides, resolves and dials.
 *
 * Vocabulary
 * - **Target**: the host and port that a program wants, normalized. A host is a name or an address, never both.
 * - **Decision**: allowed or refused, with the rule that says so. Made twice: for the name before it is resolved, and for
 *   the address before it is dialled. The address that was decided is the one that is dialled.
 * - **Journal**: what was decided and how many bytes went where.
 *
 * Laws
 * 1. Without rules nothing passes: rules that cannot be read refuse.
 * 2. What the rules refuse is neither resolved nor dialled.
 * 3. When the rules change, every open connection is decided again, and closed where they refuse it.
 * 4. Every decision is in the journal.
 */

/** One sandbox as the way out sees it. */
export interface EgressSubject {
  readonly sandbox: Id<'sandbox'>;
  readonly owner: Owner;
  readonly rules: NetworkRules;
  /** Its network was off when it was made, so what runs in it may not have been told of the proxy. Absent: perhaps. */
  readonly isLate?: boolean | undefined;
}

/** Where the rules of a sandbox come from. It is asked once, and again after each change. */
export interface EgressSubjects {
  find(sandbox: Id<'sandbox'>): Promise<EgressSubject | undefined>;
}

export type EgressProtocol = 'http' | 'connect' | 'socks';

export interface EgressDecision {
  readonly sandbox: Id<'sandbox'>;
  /** As normalized, or as sent (bounded, printable) where it cannot be. */
  readonly host: string;
  readonly port: number;
  readonly protocol: EgressProtocol;
  /** The address that was decided on; absent when it was refused before. */
  readonly address?: string | undefined;
  readonly verdict: 'allowed' | 'refused';
  /** The entry of the rules that decided, where one did. */
  readonly rule?: string | undefined;
  readonly why?: EgressRefusal | undefined;
  /** The entry that would allow it, where one could. */
  readonly suggestion?: string | undefined;
  /** Names of the secrets that were put in. */
  readonly secrets?: readonly string[] | undefined;
}

/** What happened on the way out. Neither call waits for a disk. */
export interface EgressJournal {
  decided(decision: EgressDecision): void;
  /** So many bytes went to and came from a host since the last call for it; `connections` that were opened. */
  moved(sandbox: Id<'sandbox'>, host: string, moved: EgressMoved): void;
  /** All bytes of the sandbox's life so far, both ways. */
  total(sandbox: Id<'sandbox'>): Promise<number>;
}

export interface EgressMoved {
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly connections: number;
}

/** Secrets that are put into requests on the way out. */
export interface EgressSecrets {
  /**
   * The secrets of a sandbox that are bound to this host and port, or undefined when there is none: then its TLS passes
   * untouched.
   */
  find(subject: EgressSubject, host: string, port: number): Promise<BoundSecrets | undefined>;
}

export interface BoundSecrets {
  /** The certificate for the host by this installation's authority, and its key, as PEM. */
  certificate(): Promise<{ readonly cert: string; readonly key: string }>;
  /**
   * The head of one request with the secrets in it, as they are at this moment. Its fields come and go as pairs, in order.
   * Throws `headers_too_large` or `request_invalid`: then the request is not sent.
   */
  apply(head: RequestHead): { readonly head: RequestHead; readonly used: readonly string[] };
}

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Names → addresses, as the host machine sees them. */
export interface Resolver {
  resolve(name: string, signal: AbortSignal): Promise<readonly string[]>;
}
