import { buildGuest } from '../../build.mjs';
import { withGuest } from '../../testing/describe-guest.ts';
import { describeStress } from '../../testing/describe-stress.ts';

withGuest(
  'the guest under more stress',
  () => ({ binary: buildGuest({ quiet: true }) }),
  (under) =>
    describeStress(under, { sequential: 10_000, concurrent: 500, goneMs: 60_000, hostileRounds: 300, idleKiB: 600 }),
);
