import { join } from 'node:path';
import { HostClient } from '@caisson/guest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { OciDriver } from '../../packages/server/src/drivers/oci/oci-driver.ts';
import { describeDriver } from './describe-driver.ts';
import { httpSkips, httpWorld } from './http-world.ts';
import { whyNoRuntime } from './oci-world.ts';
import { runscSkips } from './runsc-skips.ts';

const never = new AbortController().signal;

const cannotHang = {
  test: 'ends a create that hangs when it is told to destroy, and leaves nothing',
  reason: 'a server takes its guest from its build: one that never dials is given to the driver directly',
};

/** The laws of drivers for one runtime, through a server and the SDK. */
export function describeOciThroughHttp(runtime: 'runc' | 'crun' | 'runsc'): void {
  const isRunsc = runtime === 'runsc';
  describeDriver(`oci-${runtime} through HTTP`, () => ociServer(runtime), {
    missing: whyNoRuntime(runtime),
    skip: [...httpSkips, cannotHang, ...(isRunsc ? runscSkips : [])],
  });
}

function ociServer(ociRuntime: string) {
  const guestProgram = buildGuest({ quiet: true });
  const host = new HostClient(guestProgram);
  const at = (root: string) => new OciDriver({ root, guestProgram, host });
  return httpWorld({
    driver: 'oci',
    name: 'oci',
    capabilities: at('').capabilities,
    ociRuntime,
    remove: (key, runtimeFolder) => at(join(runtimeFolder, 'oci')).destroy(key, never),
    close: () => host.close(),
  });
}
