import { describePreviews } from './describe-previews.ts';

// The kernel of gVisor copies every byte by tracing: the same laws hold for fewer of them.
describePreviews({ runtime: 'runsc', bytes: 10_000_000 });
