import { describePreviewAttacks } from './describe-preview-attacks.ts';

describePreviewAttacks('runc');
