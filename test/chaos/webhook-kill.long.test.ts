import { describeWebhookKills } from './describe-webhook-kills.ts';

describeWebhookKills(40, 8);
