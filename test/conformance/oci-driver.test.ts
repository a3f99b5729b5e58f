import { describeDriver } from './describe-driver.ts';
import { isForEachRun } from './each-run-laws.ts';
import { ociWorld, whyNoRuntime } from './oci-world.ts';
import { runscSkips } from './runsc-skips.ts';

// What is the same behind every runtime is tried in each run behind the one that is taken first.
describeDriver('oci-runc', () => ociWorld('runc'), { missing: whyNoRuntime('runc'), only: isForEachRun });
describeDriver('oci-crun', () => ociWorld('crun'), { missing: whyNoRuntime('crun') });
describeDriver('oci-runsc', () => ociWorld('runsc'), {
  missing: whyNoRuntime('runsc'),
  skip: runscSkips,
  only: isForEachRun,
});
