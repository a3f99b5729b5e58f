import { describePreviewAttacks } from './describe-preview-attacks.ts';

/** What is attacked is the server's, and the same behind another runtime; here it is seen to be. */
describePreviewAttacks('runsc');
