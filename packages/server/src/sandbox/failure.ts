import { CaissonError, type Reason, type ReasonCode, reasonCodes, type Sandbox } from '@caisson/contract';

/** Codes of errors whose name is not that of the reason they give. */
const reasonOf: Partial<Record<string, ReasonCode>> = {
  instance_lost: 'instance_gone',
  guest_failed: 'guest_gone',
  guest_unreachable: 'guest_gone',
  storage_full: 'storage_failed',
  disk_quota_exceeded: 'disk_full',
  image_not_found: 'image_unavailable',
  image_invalid: 'image_unavailable',
  image_too_large: 'image_unavailable',
  images_not_available: 'image_unavailable',
  registry_failed: 'image_unavailable',
  'unsupported-os': 'image_unavailable',
  build_cancelled: 'build_failed',
  source_not_found: 'source_failed',
  source_denied: 'source_failed',
  source_unreachable: 'source_failed',
  action_cancelled: 'cancelled',
  tools_in_flight: 'cancelled',
  driver_not_found: 'driver_unavailable',
};

/** What a driver threw as one of ours. What is not ours is a defect of the driver: its words are kept, not its stack. */
export function asDriverError(error: unknown): CaissonError {
  if (error instanceof CaissonError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CaissonError('driver_failed', message.slice(0, 2000), { cause: error });
}

/** Whatever else was thrown is a defect of Caisson, and its words are nobody's business but the log's. */
export function asCaissonError(error: unknown): CaissonError {
  return error instanceof CaissonError ? error : new CaissonError('internal', undefined, { cause: error });
}

/** Why the sandbox failed, for its record: one that every database can keep and every terminal can show. */
export function failureReason(error: CaissonError): Reason {
  const known = Object.hasOwn(reasonCodes, error.code) ? (error.code as ReasonCode) : 'driver_failed';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it takes out.
  const message = error.message.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '\ufffd').slice(0, 4096);
  return { code: reasonOf[error.code] ?? known, message };
}

/** The same error with the sandbox it is about. */
export function about(error: CaissonError, sandbox: Pick<Sandbox, 'id'>): CaissonError {
  const { code, message, problems, hint } = error;
  return new CaissonError(code, message, {
    problems,
    hint,
    context: { ...error.context, sandbox: sandbox.id },
    cause: error,
  });
}
