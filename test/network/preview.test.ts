import { describePreviews } from './describe-previews.ts';

describePreviews({ runtime: 'runc', bytes: 100_000_000 });
