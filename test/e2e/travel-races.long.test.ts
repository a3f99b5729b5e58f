import { describeTravelRaces } from './describe-travel-races.ts';

describeTravelRaces('overlay');
