import { describeSandboxKills } from './describe-sandbox-kills.ts';

describeSandboxKills(20);
