import { type EngineName, type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import type { NetworkUnderAttack } from './attack-world.ts';

/** An engine of the test's own for the attacks. */
export function attackedEngine(name: EngineName): { under: NetworkUnderAttack; close: () => Promise<void> } {
  let real: RealEngine | undefined;
  const under: NetworkUnderAttack = {
    name,
    why: whyNoEngine(name),
    driver: name,
    spec: { source: { kind: 'none' }, os: { family: 'image', reference: 'localhost/tools:latest' } },
    runtime: { resources: { memoryMiB: 256, pids: 256 } },
    guestSocket: 'caisson',
    async begin() {
      real = await startEngine(name, ['curl', 'getent', 'pkill']);
      return { engines: { dockerHost: real.host, podmanHost: real.host } };
    },
  };
  return { under, close: async () => real?.close() };
}
