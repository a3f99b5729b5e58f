import { describeWebhookKills } from './describe-webhook-kills.ts';

describeWebhookKills(2, 4);
