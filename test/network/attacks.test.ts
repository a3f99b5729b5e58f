import { describeAttackedRuntime } from './attacked-runtime.ts';

describeAttackedRuntime('runc');
