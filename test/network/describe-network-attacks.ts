import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { compile } from '../security/sandbox-world.ts';
import { attackByNames } from './attack-names.ts';
import { attackPast } from './attack-past.ts';
import { attackByRequests } from './attack-requests.ts';
import { attackInTime } from './attack-time.ts';
import { AttackWorld, type NetworkUnderAttack } from './attack-world.ts';

/** What the attacks share: one server, and one sandbox in which names decide. */
export interface Stage {
  readonly world: AttackWorld;
  readonly sandbox: () => SandboxHandle;
  readonly mayEndGuest: boolean;
  readonly guestSocket: string | undefined;
}

/** Attacks on the network from inside a real sandbox, on any backend with our guest. */
export function describeNetworkAttacks(under: NetworkUnderAttack): void {
  describe(`attacks on the network on ${under.name}`, () => {
    const world = new AttackWorld(under);
    let sandbox: SandboxHandle;

    beforeAll(async () => {
      if (under.why !== undefined) return;
      await world.start();
      sandbox = await world.sandbox();
      for (const name of ['reach', 'try-call'])
        await sandbox.files.write(`/tmp/${name}`, compile(`${name}.c`), { mode: 0o755 });
    }, 120_000);
    afterAll(async () => {
      if (under.why === undefined) await world.close();
    }, 120_000);
    beforeEach((context) => {
      if (under.why !== undefined) skip(context, under.why);
      world.asked.length = 0;
      world.outside.heard = '';
    });

    const { mayEndGuest = false, guestSocket } = under;
    const stage: Stage = { world, sandbox: () => sandbox, mayEndGuest, guestSocket };
    attackPast(stage);
    attackByNames(stage);
    attackByRequests(stage);
    attackInTime(stage);
  });
}
