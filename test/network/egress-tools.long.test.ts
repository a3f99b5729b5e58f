import { describeEgressTools } from './describe-egress-tools.ts';

/** What carries it is the same guest; here it is seen to be. */
describeEgressTools('runsc');
