import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NetworkRules } from '@caisson/contract';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { EgressGates } from '../../packages/server/src/network/proxy/egress-gates.ts';
import { ClosedAddresses } from '../../packages/server/src/network/rules/closed-addresses.ts';
import { whyNoRuntime } from '../conformance/oci-world.ts';
import { skip } from '../conformance/skips.ts';
import { SandboxWorld } from '../security/sandbox-world.ts';
import { owner } from './egress-world.ts';

/** A real sandbox that begins with its network off. */
const why = whyNoRuntime('runc');
let world: SandboxWorld;
let port = 0;
const server = createServer((_, res) => res.end('here\n'));
const none = { allow: [], deny: [], limits: {}, secrets: [] };
let rules: NetworkRules;
const parts = {
  subjects: { find: async (sandbox: never) => ({ sandbox, owner, rules }) },
  journal: { decided() {}, moved() {}, total: async () => 0 },
  secrets: undefined,
  resolver: { resolve: async () => ['127.0.0.1'] },
  closed: new ClosedAddresses(['127.0.0.0/8'], () => []),
  log: { warn() {} },
};

beforeAll(async () => {
  if (why !== undefined) return;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
  world = await SandboxWorld.open('runc');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await world?.close();
});
beforeEach((context) => {
  if (why !== undefined) skip(context, why);
  rules = { mode: 'off', ...none };
});

test('a network that is switched on is there for what is started from then on, and closed when it is switched off', async () => {
  const gates = new EgressGates(parts);
  world.driver.onGuest = ({ sandbox }, guest) => gates.attach(sandbox, guest);
  const { id, sh } = await world.launch();
  expect((await sh(`curl -sS -m 5 http://a.test:${port}/`)).code).not.toBe(0);
  rules = { mode: 'open', ...none };
  await gates.rulesChanged(id);
  expect(await sh(`curl -sS -m 5 http://a.test:${port}/`)).toEqual({ code: 0, said: 'here\n' });
  rules = { mode: 'off', ...none };
  await gates.rulesChanged(id);
  expect((await sh(`curl -sS -m 5 http://a.test:${port}/`)).said).toMatch(/network_off/);
  await gates.close();
});

test('the next server tells what is started in a sandbox that was switched on before it came', async () => {
  const first = new EgressGates(parts);
  world.driver.onGuest = ({ sandbox }, guest) => first.attach(sandbox, guest);
  const { id, guest, sh } = await world.launch();
  rules = { mode: 'open', ...none };
  await first.rulesChanged(id);
  await first.close();
  // What the first one knew of the guest's processes goes with it.
  guest.processes.baseEnv = undefined;
  const second = new EgressGates(parts);
  second.attach(id, guest);
  await second.adopted([id]);
  expect(await sh(`curl -sS -m 5 http://a.test:${port}/`)).toEqual({ code: 0, said: 'here\n' });
  await second.close();
  expect((await sh(`curl -sS -m 5 http://a.test:${port}/`)).code).not.toBe(0);
});

test('a connection inside ends when the rules close it', async () => {
  const gates = new EgressGates(parts);
  world.driver.onGuest = ({ sandbox }, guest) => gates.attach(sandbox, guest);
  rules = { mode: 'open', ...none };
  const { id, sh } = await world.launch();
  await gates.rulesChanged(id);
  server.removeAllListeners('request').on('request', (_, res) => res.write('begun\n'));
  const waiting = sh(`curl -sSN -m 9 http://a.test:${port}/`);
  await expect.poll(() => gates.openConnections(id)).toBe(1);
  await new Promise((soon) => setTimeout(soon, 300));
  rules = { mode: 'allowlist', ...none };
  await gates.rulesChanged(id);
  const { code, said } = await waiting;
  expect(code).not.toBe(0);
  expect(said).toMatch(/begun/);
  expect(gates.openConnections(id)).toBe(0);
  await gates.close();
});
