import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChannelTable, type Side, type Terms } from './channel-table.ts';
import type { ChannelFrameName } from './frame-types.ts';
import { limits } from './limits.ts';
import { type MethodName, methodNames, methods } from './methods.ts';
import { ProtocolError } from './protocol-error.ts';

const terms: Terms = { ownWindow: 100, peerWindow: 100, ownChannels: 5, peerChannels: 5 };
/** The two sides of one connection; every number differs, so that no two can be taken for each other. */
const serverTerms: Terms = { ownWindow: 100, peerWindow: 70, ownChannels: 5, peerChannels: 3 };
const guestTerms: Terms = { ownWindow: 70, peerWindow: 100, ownChannels: 3, peerChannels: 5 };
const openOf = (name: MethodName) => ({ method: methods[name].number, input: methods[name].input });

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ProtocolError) return error.code;
    throw error;
  }
  return 'no error';
}

interface Wire {
  readonly channel: number;
  readonly frame: ChannelFrameName;
  readonly size: number;
  readonly method?: MethodName;
}
type Action = { readonly do: 'deliver' | 'open' | ChannelFrameName; readonly by: Side; readonly pick: number };

/** Two tables joined by two ordered queues; random actions, each sent only when the sender's own table allows it. */
class Pair {
  readonly tables = { server: new ChannelTable('server', serverTerms), guest: new ChannelTable('guest', guestTerms) };
  readonly toPeer: Record<Side, Wire[]> = { server: [], guest: [] };
  readonly known: Record<Side, number[]> = { server: [], guest: [] };

  act({ do: what, by, pick }: Action): void {
    if (what === 'deliver') this.deliver(by);
    else if (what === 'open') this.open(by, pick);
    else this.send(by, what, this.known[by][pick % this.known[by].length] ?? 0, (pick % 40) + 1);
  }

  open(by: Side, pick: number): void {
    const names = methodNames.filter((name) => methods[name].opener === by);
    const method = names[pick % names.length];
    if (method === undefined || !this.tables[by].mayOpen) return;
    const channel = this.tables[by].open(method);
    this.known[by].push(channel);
    this.toPeer[by].push({ channel, frame: 'open', size: 0, method });
  }

  send(by: Side, frame: Exclude<ChannelFrameName, 'open'> | 'open', channel: number, size: number): void {
    if (frame === 'open') return;
    try {
      this.tables[by].send(channel, frame, size);
    } catch (error) {
      if (error instanceof ProtocolError) return;
      throw error;
    }
    this.toPeer[by].push({ channel, frame, size });
  }

  deliver(from: Side): void {
    const wire = this.toPeer[from].shift();
    const to = from === 'server' ? 'guest' : 'server';
    if (wire === undefined) return;
    if (wire.method !== undefined) {
      expect(this.tables[to].accept(wire.channel, openOf(wire.method))).toBe(wire.method);
      this.known[to].push(wire.channel);
    } else if (wire.frame !== 'open') {
      const { owesReset } = this.tables[to].receive(wire.channel, wire.frame, wire.size);
      if (owesReset) this.send(to, 'reset', wire.channel, 0);
    }
  }

  drain(): void {
    while (this.toPeer.server.length + this.toPeer.guest.length > 0) {
      this.deliver('server');
      this.deliver('guest');
    }
  }
}

const action: fc.Arbitrary<Action> = fc.record({
  do: fc.constantFrom('deliver', 'deliver', 'deliver', 'open', 'data', 'data', 'window', 'end', 'result', 'reset'),
  by: fc.constantFrom('server', 'guest'),
  pick: fc.nat(1000),
});

test('whatever one correct side sends, the other accepts, however frames cross', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200, size: 'max' }), (actions) => {
      const pair = new Pair();
      for (const each of actions) pair.act(each);
      pair.drain();
      expect(pair.tables.server.size).toBe(pair.tables.guest.size);
      // Resetting what is left leaves nothing behind on either side.
      for (const by of ['server', 'guest'] as const) {
        for (const channel of pair.known[by]) pair.send(by, 'reset', channel, 0);
      }
      pair.drain();
      expect([pair.tables.server.size, pair.tables.guest.size]).toEqual([0, 0]);
      expect([pair.tables.server.mayOpen, pair.tables.guest.mayOpen]).toEqual([true, true]);
    }),
    { numRuns: 1500 },
  );
});

test('each half begins with the window of the side that receives it, or the one its open names', () => {
  for (const window of [undefined, 40]) {
    const [server, guest] = [new ChannelTable('server', serverTerms), new ChannelTable('guest', guestTerms)];
    const channel = server.open('port.connect', window);
    guest.accept(channel, window === undefined ? openOf('port.connect') : { ...openOf('port.connect'), window });
    expect([server.credit(channel), guest.credit(channel)]).toEqual([70, window ?? 100]);
    guest.send(channel, 'result');
    server.receive(channel, 'result');
    expect(codeOf(() => guest.receive(channel, 'data', 71))).toBe('window_exceeded');
    expect(codeOf(() => server.receive(channel, 'data', (window ?? 100) + 1))).toBe('window_exceeded');
  }
});

test('the server opens odd ids and the guest even ones', () => {
  expect(new ChannelTable('server', terms).open('sys.info')).toBe(1);
  expect(new ChannelTable('guest', terms).open('proxy.connect')).toBe(2);
});

test.each([
  ['an id of the wrong parity', 1, 'bad_channel_id'],
  ['an id above the limit', limits.channelIdMax + 1, 'bad_channel_id'],
])('%s cannot be opened', (_, id, code) => {
  expect(codeOf(() => new ChannelTable('server', terms).accept(id, openOf('proxy.connect')))).toBe(code);
});

test('an id cannot be opened twice, nor one below an earlier one', () => {
  const table = new ChannelTable('server', terms);
  table.accept(6, openOf('proxy.connect'));
  expect(codeOf(() => table.accept(6, openOf('proxy.connect')))).toBe('bad_channel_id');
  expect(codeOf(() => table.accept(4, openOf('proxy.connect')))).toBe('bad_channel_id');
});

test('a guest opens proxy.connect and nothing else', () => {
  for (const name of methodNames) {
    const code = codeOf(() => new ChannelTable('server', terms).accept(2, openOf(name)));
    expect(code).toBe(name === 'proxy.connect' ? 'no error' : 'wrong_opener');
  }
});

test('a peer cannot have more channels open than it was allowed', () => {
  const table = new ChannelTable('server', terms);
  for (let i = 1; i <= 5; i += 1) table.accept(i * 2, openOf('proxy.connect'));
  expect(codeOf(() => table.accept(12, openOf('proxy.connect')))).toBe('too_many_channels');
});

test('an unknown method is accepted as far as its open says, so that it can be reset', () => {
  const table = new ChannelTable('guest', terms);
  expect(table.accept(1, { method: 0x7fff, input: true })).toBeUndefined();
  table.receive(1, 'data', 100);
  table.send(1, 'reset');
  expect(table.receive(1, 'reset')).toEqual({ discard: false, owesReset: false, over: true });
  expect(table.size).toBe(0);
});

test('a frame for a channel that never was is refused, and a late window or reset is dropped', () => {
  const table = new ChannelTable('server', terms);
  expect(codeOf(() => table.receive(1, 'window', 5))).toBe('unknown_channel');
  const channel = table.open('process.wait');
  table.receive(channel, 'result');
  expect(table.receive(channel, 'reset').discard).toBe(true);
  expect(codeOf(() => table.receive(channel, 'data', 1))).toBe('channel_closed');
});
