import { CaissonError, type CaissonEvent, eventSchema } from '@caisson/contract';

export interface VerifyOptions {
  /** How far the clocks of both sides may be apart, and how late a delivery may be looked at; 300 when absent. */
  readonly toleranceSeconds?: number | undefined;
  readonly now?: number | undefined;
}

type Fields = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The event of a delivery, once its signature is known to be right. `body` is the text as it came, before anything read it
 * as JSON. Throws `unauthenticated` for what this secret did not sign, or signed too long ago: it is not to be believed.
 */
export async function verifyWebhook(
  secret: string,
  headers: Fields,
  body: string,
  options: VerifyOptions = {},
): Promise<CaissonEvent> {
  await verifyDelivery(secret, headers, body, options);
  return eventOf(body);
}

/** The same of anything that the server signs, such as batches of the usage hook: throws unless this secret signed it. */
export async function verifyDelivery(
  secret: string,
  headers: Fields,
  body: string,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<void> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    field(headers, name),
  );
  if (!id || !timestamp || !signatures || !/^\d{1,15}$/.test(timestamp)) throw refused('it is not signed');
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) throw refused('it was signed too long ago');
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', keyBytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ]);
  const content = encoder.encode(`${id}.${timestamp}.${body}`);
  for (const one of signatures.split(' ').slice(0, 10)) {
    const signature = one.startsWith('v1,') ? bytesOf(one.slice(3)) : undefined;
    if (signature && (await crypto.subtle.verify('HMAC', key, signature, content))) return;
  }
  throw refused('its signature is not of this secret');
}

function eventOf(body: string): CaissonEvent {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw refused('it is signed, and no JSON');
  }
  const read = eventSchema.safeParse(value);
  if (!read.success) throw refused('it is signed, and no event that this version knows');
  return read.data;
}

function keyBytes(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  if (!bytes) throw new CaissonError('request_invalid', 'the secret of a webhook is `whsec_` and base64');
  return bytes;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function field(headers: Fields, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  return typeof value === 'string' ? value : undefined;
}

function refused(message: string): CaissonError {
  return new CaissonError('unauthenticated', message, { hint: 'Do not act on it; check the secret of the webhook.' });
}
