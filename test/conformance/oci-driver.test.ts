import { describeDriver } from './describe-driver.ts';
import { ociWorld } from './oci-world.ts';

describeDriver('oci with runc', () => ociWorld('runc'));
describeDriver('oci with crun', () => ociWorld('crun'));
describeDriver('oci with runsc', () => ociWorld('runsc'));
