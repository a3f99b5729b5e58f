import { describeFileApi } from './describe-file-api.ts';
import { SandboxWorld } from './sandbox-world.ts';

describeFileApi('runc', () => SandboxWorld.open('runc'));
