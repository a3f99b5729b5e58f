import { afterAll } from 'vitest';
import { describeNetworkAttacks } from './describe-network-attacks.ts';
import { attackedEngine } from './engine-under-attack.ts';

/** On Docker; what is the same on Podman runs among the long ones. */
const { under, close } = attackedEngine('docker');
describeNetworkAttacks(under);
afterAll(close);
