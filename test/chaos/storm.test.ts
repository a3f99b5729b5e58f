import { describeStorm } from './describe-storm.ts';

// Each blow falls once, however long that takes; 15 minutes of it in `npm run test:long`.
describeStorm(10);
