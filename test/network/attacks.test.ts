import { whyNoRuntime } from '../conformance/oci-world.ts';
import { describeNetworkAttacks } from './describe-network-attacks.ts';

for (const runtime of ['runc', 'runsc'] as const) {
  describeNetworkAttacks({
    name: runtime,
    why: whyNoRuntime(runtime),
    driver: 'oci',
    spec: { source: { kind: 'none' }, os: 'host' },
    runtime: { ociRuntime: runtime },
  });
}
