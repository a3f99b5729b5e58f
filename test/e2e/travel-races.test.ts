import { describeTravelRaces } from './describe-travel-races.ts';

// On overlay in `npm run test:long`: what races is the same, and what it races for is slower there.
describeTravelRaces('btrfs');
