import { createHmac, timingSafeEqual } from 'node:crypto';

/** Longer, and whoever is told of things is told late; shorter, and a slow receiver never gets anything. */
const timeoutMs = 10_000;

export interface SignedPost {
  readonly url: string;
  readonly secret: string;
  /** The same each time it is sent: the receiver tells repetitions by it. */
  readonly id: string;
  readonly body: string;
}

/**
 * Sends a body that its receiver can trust. `caisson-signature` is `t=<seconds>,v1=<hex>`: HMAC-SHA-256 with the shared
 * secret of `<seconds>.<body>`, so that neither can be changed and an old one cannot be sent again later. Resolves when
 * the receiver has taken it (2xx), and throws with why it has not. Redirects are not followed.
 */
export async function postSigned({ url, secret, id, body }: SignedPost, signal: AbortSignal): Promise<void> {
  const seconds = Math.floor(Date.now() / 1000);
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    headers: {
      'content-type': 'application/json',
      'caisson-delivery': id,
      'caisson-signature': `t=${seconds},v1=${sign(secret, seconds, body)}`,
    },
    body,
  });
  // What it says besides is of no interest, and may be endless.
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
}

export function sign(secret: string, seconds: number, body: string): string {
  return createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
}

/** For receivers: whether a signature is right and not older than it may be. */
export function isSignedBy(
  secret: string,
  signature: string,
  body: string,
  { maxAgeSeconds = 300, nowMs = Date.now() } = {},
): boolean {
  const [, time = '', given = ''] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  if (time === '' || Math.abs(nowMs / 1000 - Number(time)) > maxAgeSeconds) return false;
  return timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(sign(secret, Number(time), body), 'hex'));
}
