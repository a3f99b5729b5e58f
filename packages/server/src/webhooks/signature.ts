import { createHmac, randomBytes } from 'node:crypto';

/**
 * How deliveries are signed: as Standard Webhooks says, so that its libraries check them. The signature is HMAC-SHA256
 * over the id of the event, the time in seconds and the body, with dots between; the secret is base64 after its prefix.
 */
const prefix = 'whsec_';
/** 256 bits, as many as the digest has. */
const secretBytes = 32;
const minSecretBytes = 24;

export function newWebhookSecret(): string {
  return `${prefix}${randomBytes(secretBytes).toString('base64')}`;
}

/** Whether a text is a secret that can sign; shorter ones can be guessed. */
export function isWebhookSecret(text: string): boolean {
  return /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text) && keyOf(text).length >= minSecretBytes;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64');
}

export interface Signed {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** One signature for each secret: while a secret is being replaced, either side may already have the new one. */
export function sign(secrets: readonly string[], id: string, seconds: number, body: string): Signed {
  const signatures = secrets.map((secret) => {
    return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') };
}
