import { whyNoRuntime } from '../conformance/oci-world.ts';
import { describeKilledServer } from './attack-killed-server.ts';
import { describeNetworkAttacks } from './describe-network-attacks.ts';

/** Every attack on the network from inside a sandbox of this runtime. */
export function describeAttackedRuntime(runtime: 'runc' | 'runsc'): void {
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
