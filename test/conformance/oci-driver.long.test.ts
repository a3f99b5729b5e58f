import { describeDriver } from './describe-driver.ts';
import { isForEachRun } from './each-run-laws.ts';
import { ociWorld, whyNoRuntime } from './oci-world.ts';
import { runscSkips } from './runsc-skips.ts';

describeDriver('oci-runc', () => ociWorld('runc'), {
  missing: whyNoRuntime('runc'),
  only: (title) => !isForEachRun(title),
});
describeDriver('oci-runsc', () => ociWorld('runsc'), {
  missing: whyNoRuntime('runsc'),
  skip: runscSkips.filter(({ test }) => !isForEachRun(test)),
  only: (title) => !isForEachRun(title),
});
