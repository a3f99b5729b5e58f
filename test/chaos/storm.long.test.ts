import { describeStorm } from './describe-storm.ts';

describeStorm(900);
