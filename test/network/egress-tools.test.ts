import { describeEgressTools } from './describe-egress-tools.ts';

describeEgressTools('runc');
