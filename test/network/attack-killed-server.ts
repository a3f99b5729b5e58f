import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SandboxWorld } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';
import { slowness } from '../slowness.ts';
import { type NetworkUnderAttack, Outside } from './attack-world.ts';

/** The moment in which there is no server, and the one in which there is another. */
export function describeKilledServer(under: NetworkUnderAttack): void {
  describe(`a killed server on ${under.name}`, () => {
    const world = new SandboxWorld();
    const outside = new Outside();
    const start = () => world.start(['--egress-open', `127.0.0.1:${outside.port}`]);

    beforeAll(async () => {
      if (under.why !== undefined) return;
      await outside.listen();
      await start();
    }, 120_000);
    afterAll(async () => {
      outside.close();
      await world.close();
    }, 120_000);
    beforeEach((context) => {
      if (under.why !== undefined) skip(context, under.why);
    });

    test('nothing gets out without a server, and the next one has the rules that were changed last', async () => {
      const network = { mode: 'open' };
      const spec = { ...under.spec, runtime: { ...under.runtime, network } };
      const sandbox = await world.client().sandboxes.create({ spec: spec as never });
      const fetch = (path: string) => `curl -s -m 5 --noproxy '' http://127.0.0.1:${outside.port}${path} >/dev/null`;
      await sandbox.processes.start(['sh', '-c', `while :; do ${fetch('/beat')}; sleep 0.05; done`]);
      const beats = () => outside.count('/beat');
      await expect.poll(beats, { timeout: 30_000 * slowness }).toBeGreaterThan(0);
      await world.kill();
      await expect.poll(() => outside.open.size).toBe(0);
      const before = beats();
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(beats()).toBe(before);
      await start();
      await expect.poll(beats, { timeout: 20_000 * slowness }).toBeGreaterThan(before);

      const get = (): Promise<SandboxHandle> => world.client().sandboxes.get(sandbox.id);
      await (await get()).network.set({ mode: 'allowlist', allow: ['other.test'] });
      await expect.poll(() => outside.open.size).toBe(0);
      const last = beats();
      await world.kill();
      await start();
      const refused = async () => {
        for await (const { why } of (await get()).egress.log()) if (why === 'not_allowed') return true;
        return false;
      };
      await expect.poll(refused, { timeout: 20_000 * slowness }).toBe(true);
      expect(beats()).toBe(last);
      await (await get()).destroy();
    }, 120_000);
  });
}
