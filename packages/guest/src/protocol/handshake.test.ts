import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frameNames } from './frame-types.ts';
import {
  checkWelcome,
  decideHello,
  type HandshakeEvent,
  type HandshakePhase,
  handshakeStep,
  type Secrets,
  type ServerFacts,
} from './handshake.ts';
import type { Hello } from './messages.ts';
import { ProtocolError } from './protocol-error.ts';

let counter = 0;
const secret = (n: number) => Buffer.alloc(32, n);
const hello: Hello = {
  minVersion: 1,
  maxVersion: 1,
  guestVersion: 'test',
  sandboxId: 'sbxone',
  incarnation: 2,
  bootId: Buffer.alloc(16),
  initialWindow: 262144,
  maxChannels: 10,
};
const facts: ServerFacts = {
  sandboxId: 'sbxone',
  incarnation: 2,
  peer: 'proven',
  secrets: undefined,
  connected: false,
  shuttingDown: false,
  initialWindow: 262144,
  maxChannels: 20,
  newSecret: () => secret(100 + (counter++ % 100)),
};

const reasonOf = (h: Partial<Hello>, f: Partial<ServerFacts> = {}) => {
  const decision = decideHello({ ...hello, ...h }, { ...facts, ...f });
  return 'refuse' in decision ? decision.refuse.reason : 'welcome';
};
const secrets: Secrets = { current: secret(1), next: secret(2) };

test.each<[string, Partial<Hello>, Partial<ServerFacts>, string]>([
  ['a proven guest', {}, {}, 'welcome'],
  ['a foreign process', { secret: secret(1) }, { peer: 'foreign', secrets }, 'auth_failed'],
  ['an unknown peer without a secret', {}, { peer: 'unknown', secrets }, 'auth_failed'],
  ['an unknown peer where no secret was made', { secret: secret(1) }, { peer: 'unknown' }, 'auth_failed'],
  ['an unknown peer with a wrong secret', { secret: secret(3) }, { peer: 'unknown', secrets }, 'auth_failed'],
  ['a stranger who names a wrong sandbox', { sandboxId: 'x' }, { peer: 'foreign' }, 'auth_failed'],
  ['the current secret', { secret: secret(1) }, { peer: 'unknown', secrets }, 'welcome'],
  ['the next secret', { secret: secret(2) }, { peer: 'unknown', secrets }, 'welcome'],
  ['another sandbox', { sandboxId: 'sbxtwo' }, {}, 'wrong_sandbox'],
  ['an older incarnation', { incarnation: 1 }, {}, 'stale_incarnation'],
  ['a guest that is too new', { minVersion: 2, maxVersion: 3 }, {}, 'no_common_version'],
  ['a guest that speaks newer versions too', { maxVersion: 9 }, {}, 'welcome'],
  ['a version range upside down', { minVersion: 3, maxVersion: 1 }, {}, 'no_common_version'],
  ['a second dialler', {}, { connected: true }, 'already_connected'],
  ['a dial to a server that stops', {}, { shuttingDown: true }, 'shutting_down'],
])('%s is answered rightly', (_, h, f, answer) => {
  expect(reasonOf(h, f)).toBe(answer);
});

test('the guest is never locked out, wherever the server crashes, and an old secret dies', () => {
  const event = fc.constantFrom('arrives', 'crash before storing', 'crash before sending', 'welcome lost');
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      let stored: Secrets = { current: secret(1), next: secret(2) };
      let held: Uint8Array = secret(1);
      for (const each of events) {
        const shown: Hello = { ...hello, secret: held };
        const decision = decideHello(shown, { ...facts, peer: 'unknown', secrets: stored });
        if (!('welcome' in decision) || decision.secrets === undefined) throw new Error('locked out');
        expect(decision.welcome.nextSecret).toEqual(decision.secrets.next);
        if (each === 'crash before storing') continue;
        const previous = stored;
        stored = decision.secrets;
        if (stored.current === previous.next) {
          expect(reasonOf({ secret: previous.current }, { peer: 'unknown', secrets: stored })).toBe('auth_failed');
        }
        if (each === 'arrives') held = decision.secrets.next;
      }
    }),
  );
});

test('a guest refuses a version it did not offer', () => {
  const welcome = { version: 2, initialWindow: 65536, maxChannels: 1 };
  expect(() => checkWelcome(hello, welcome)).toThrow(ProtocolError);
  expect(() => checkWelcome({ ...hello, maxVersion: 2 }, welcome)).not.toThrow();
});

test('each phase allows just the frames of the table', () => {
  const phases: readonly HandshakePhase[] = ['waiting', 'deciding', 'established', 'closed'];
  const handshake = new Set(['hello', 'welcome', 'refuse']);
  for (const side of ['server', 'guest'] as const) {
    const helloWay = side === 'server' ? 'received' : 'sent';
    for (const phase of phases) {
      for (const kind of ['received', 'sent'] as const) {
        for (const frame of frameNames) {
          let expected: HandshakePhase | undefined;
          if (phase === 'waiting' && frame === 'hello' && kind === helloWay) expected = 'deciding';
          if (phase === 'deciding' && frame === 'welcome' && kind !== helloWay) expected = 'established';
          if (phase === 'deciding' && frame === 'refuse' && kind !== helloWay) expected = 'closed';
          if (phase === 'established' && !handshake.has(frame)) expected = 'established';
          const event: HandshakeEvent = { kind, frame };
          if (expected === undefined) expect(() => handshakeStep(side, phase, event)).toThrow(ProtocolError);
          else expect(handshakeStep(side, phase, event)).toBe(expected);
        }
      }
    }
  }
});

test('the deadline ends a handshake and nothing else', () => {
  expect(() => handshakeStep('server', 'waiting', { kind: 'deadline' })).toThrow(ProtocolError);
  expect(() => handshakeStep('guest', 'deciding', { kind: 'deadline' })).toThrow(ProtocolError);
  expect(handshakeStep('server', 'established', { kind: 'deadline' })).toBe('established');
});
