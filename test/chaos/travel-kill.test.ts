import { describeTravelKills } from './describe-travel-kills.ts';

describeTravelKills('overlay', 8);
describeTravelKills('btrfs', 7);
