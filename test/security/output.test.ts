import { describeOutput } from './describe-output.ts';
import { SandboxWorld } from './sandbox-world.ts';

describeOutput('runc', () => SandboxWorld.open('runc'));
