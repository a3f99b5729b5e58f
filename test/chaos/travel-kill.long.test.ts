import { describeTravelKills } from './describe-travel-kills.ts';

describeTravelKills('overlay', 100);
describeTravelKills('btrfs', 100);
