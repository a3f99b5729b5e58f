import { describeConfinement } from './describe-confinement.ts';
import { SandboxWorld } from './sandbox-world.ts';

const files = ['/dev/.caisson/guest regular file', '/dev/.caisson/run/socket socket'];

for (const runtime of ['runc', 'crun'] as const)
  describeConfinement(runtime, () => SandboxWorld.open(runtime), { userNamespace: true, files });
