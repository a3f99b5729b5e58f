import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeTrust } from './describe-trust.ts';
import { type Attacked, SandboxWorld } from './sandbox-world.ts';

for (const runtime of ['runc', 'runsc'] as const)
  describeTrust(runtime, () => SandboxWorld.open(runtime), {
    isInFiles: (_, sandbox, path) => existsSync(join((sandbox as Attacked).rootfs.path, path)),
  });
