import { buildGuest } from '../../build.mjs';
import { describeGuest } from '../../testing/describe-guest.ts';

describeGuest('the guest', () => ({ binary: buildGuest({ quiet: true }) }));
