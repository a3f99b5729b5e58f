import { whyNoRuntime } from '../conformance/oci-world.ts';
import { describeKilledServer } from './attack-killed-server.ts';
import { describeNetworkAttacks } from './describe-network-attacks.ts';

for (const runtime of ['runc', 'runsc'] as const) {
  const under = {
    name: runtime,
    why: whyNoRuntime(runtime),
    driver: 'oci',
    spec: { source: { kind: 'none' }, os: 'host' },
    runtime: { ociRuntime: runtime },
    mayEndGuest: runtime === 'runsc',
  };
  describeNetworkAttacks(under);
  describeKilledServer(under);
}
