import { describeDriver } from './describe-driver.ts';
import { isForEachRun } from './each-run-laws.ts';
import { ociWorld, whyNoRuntime } from './oci-world.ts';
import { runscSkips } from './runsc-skips.ts';

describeDriver('oci-runc', () => ociWorld('runc'), { missing: whyNoRuntime('runc') });
describeDriver('oci-crun', () => ociWorld('crun'), { missing: whyNoRuntime('crun') });
describeDriver('oci-runsc', () => ociWorld('runsc'), {
  missing: whyNoRuntime('runsc'),
  skip: runscSkips,
  only: isForEachRun,
});
