import { describeStorm } from './describe-storm.ts';

describeStorm(Number(process.env.CAISSON_STORM_SECONDS ?? 900));
