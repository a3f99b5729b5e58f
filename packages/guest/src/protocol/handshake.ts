import { timingSafeEqual } from 'node:crypto';
import type { FrameName } from './frame-types.ts';
import { limits } from './limits.ts';
import type { Hello, Refuse, RefuseReason, Welcome } from './messages.ts';
import { ProtocolError } from './protocol-error.ts';

/**
 * The first two frames of a connection, without I/O.
 *
 * Laws
 * - The guest speaks first and says only `hello`; the server answers `welcome` or `refuse` and nothing before it.
 * - All of it fits `handshakeDeadline`.
 * - Identity is proven before anything is told: a stranger learns `auth_failed` and nothing else.
 * - Secrets: the server keeps two, `current` and `next`. It stores the pair *before* it sends `welcome`, and takes either
 *   until the guest shows `next`. If the server dies between storing and sending, or the welcome is lost, the guest comes
 *   with `current` and is told the same `next` again; if the welcome arrived, it comes with `next`, and `current` dies.
 *   With one secret, one of these two crashes would lock the guest out for ever.
 */
export interface Secrets {
  readonly current: Uint8Array;
  readonly next: Uint8Array;
}

export interface ServerFacts {
  readonly sandboxId: string;
  readonly incarnation: number;
  /** What the kernel says of the peer (SO_PEERCRED): it is the guest, it is not, or this stream cannot tell. */
  readonly peer: 'proven' | 'foreign' | 'unknown';
  /** Needed when the peer is `unknown`; without it an unknown peer is refused. */
  readonly secrets: Secrets | undefined;
  /** A guest of this sandbox is connected. */
  readonly connected: boolean;
  readonly shuttingDown: boolean;
  readonly initialWindow: number;
  readonly maxChannels: number;
  readonly newSecret: () => Uint8Array;
}

export type Decision =
  /** Store `secrets`, if given, durably; then send. */
  { readonly welcome: Welcome; readonly secrets: Secrets | undefined } | { readonly refuse: Refuse };

export function decideHello(hello: Hello, facts: ServerFacts): Decision {
  const proof = prove(hello, facts);
  if (!proof.proven) return refusal('auth_failed', 'the guest could not prove who it is');
  if (hello.sandboxId !== facts.sandboxId) return refusal('wrong_sandbox', 'this socket belongs to another sandbox');
  if (hello.incarnation !== facts.incarnation) {
    return refusal('stale_incarnation', `the sandbox is at incarnation ${facts.incarnation}`);
  }
  const version = Math.min(hello.maxVersion, limits.versionMax);
  if (version < hello.minVersion || version < limits.versionMin) {
    return refusal('no_common_version', `the server speaks ${limits.versionMin} to ${limits.versionMax}`);
  }
  if (facts.shuttingDown) return refusal('shutting_down', 'the server is about to stop');
  if (facts.connected) return refusal('already_connected', 'a guest of this sandbox is connected');
  const { initialWindow, maxChannels } = facts;
  const { secrets } = proof;
  const base = { version, initialWindow, maxChannels };
  return { secrets, welcome: secrets === undefined ? base : { ...base, nextSecret: secrets.next } };
}

function prove(hello: Hello, facts: ServerFacts): { proven: boolean; secrets: Secrets | undefined } {
  if (facts.peer !== 'unknown') return { proven: facts.peer === 'proven', secrets: undefined };
  const { secrets } = facts;
  if (secrets === undefined || hello.secret === undefined) return { proven: false, secrets: undefined };
  if (same(hello.secret, secrets.next)) {
    return { proven: true, secrets: { current: secrets.next, next: facts.newSecret() } };
  }
  return { proven: same(hello.secret, secrets.current), secrets };
}

/** Compared in constant time, so that the time of a refusal tells nothing about how much was right. */
function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function refusal(reason: RefuseReason, message: string): Decision {
  return { refuse: { reason, message } };
}

/** What the guest checks in the answer. */
export function checkWelcome(hello: Hello, welcome: Welcome): void {
  if (welcome.version < hello.minVersion || welcome.version > hello.maxVersion) {
    throw new ProtocolError('version_not_offered', `${welcome.version}`);
  }
}

/** Where a connection stands. `deciding`: hello came, the answer has not been sent. */
export type HandshakePhase = 'waiting' | 'deciding' | 'established' | 'closed';
export type HandshakeEvent =
  | { readonly kind: 'received' | 'sent'; readonly frame: FrameName }
  | { readonly kind: 'deadline' };

/** The next phase, for a server (`hello` comes, then an answer goes) or a guest (the mirror of it). */
export function handshakeStep(side: 'server' | 'guest', phase: HandshakePhase, event: HandshakeEvent): HandshakePhase {
  if (event.kind === 'deadline') {
    if (phase === 'waiting' || phase === 'deciding') throw new ProtocolError('handshake_timeout');
    return phase;
  }
  const { frame } = event;
  const isAnswer = frame === 'welcome' || frame === 'refuse';
  const helloWay = side === 'server' ? 'received' : 'sent';
  if (phase === 'waiting' && frame === 'hello' && event.kind === helloWay) return 'deciding';
  if (phase === 'deciding' && isAnswer && event.kind !== helloWay)
    return frame === 'welcome' ? 'established' : 'closed';
  if (phase === 'established' && frame !== 'hello' && !isAnswer) return phase;
  throw new ProtocolError('handshake_order', `${frame} ${event.kind} by a ${side} that is ${phase}`);
}
