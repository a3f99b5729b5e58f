import { afterAll } from 'vitest';
import { describeNetworkAttacks } from './describe-network-attacks.ts';
import { describePreviewAttacks } from './describe-preview-attacks.ts';
import { describePreviews } from './describe-previews.ts';
import { attackedEngine } from './engine-under-attack.ts';

/** Everything of the network on engines that is not looked at each time: most of it is the server's, and the same there. */
for (const name of ['docker', 'podman'] as const) {
  const { under, close } = attackedEngine(name);
  describeNetworkAttacks(under);
  afterAll(close);
  describePreviews({ runtime: name, bytes: 100_000_000 });
  describePreviewAttacks(name);
}
