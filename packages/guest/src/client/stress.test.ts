import { buildGuest } from '../../build.mjs';
import { withGuest } from '../../testing/describe-guest.ts';
import { describeStress } from '../../testing/describe-stress.ts';

withGuest(
  'the guest under stress',
  () => ({ binary: buildGuest({ quiet: true }) }),
  (under) =>
    describeStress(under, { sequential: 2000, concurrent: 500, goneMs: 2000, hostileRounds: 25, idleKiB: 600 }),
);
