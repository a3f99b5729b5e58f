import { describeCalls } from './describe-calls.ts';
import { SandboxWorld } from './sandbox-world.ts';

describeCalls('runc', () => SandboxWorld.open('runc'));
describeCalls('crun', () => SandboxWorld.open('crun'));
