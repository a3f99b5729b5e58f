import { describeAttackedRuntime } from './attacked-runtime.ts';

/** What decides is the server's, and the same behind a kernel of its own; here it is seen to be. */
describeAttackedRuntime('runsc');
