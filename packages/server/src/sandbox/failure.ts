import { CaissonError, type Reason, type ReasonCode, reasonCodes, type Sandbox } from '@caisson/contract';

/** Codes of errors whose name is not that of the reason they give. */
const reasonOf: Partial<Record<string, ReasonCode>> = {
  instance_lost: 'instance_gone',
  guest_failed: 'guest_gone',
  guest_unreachable: 'guest_gone',
  storage_full: 'storage_failed',
  action_cancelled: 'cancelled',
  driver_not_found: 'driver_unavailable',
};

/** Whatever was thrown as one of ours. What is not ours is a defect of a driver: its words are kept, its stack is not. */
export function asCaissonError(error: unknown): CaissonError {
  if (error instanceof CaissonError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CaissonError('driver_failed', message.slice(0, 2000), { cause: error });
}

/** Why the sandbox failed, for its record. */
export function failureReason(error: CaissonError): Reason {
  const code =
    reasonOf[error.code] ?? (Object.hasOwn(reasonCodes, error.code) ? (error.code as ReasonCode) : 'driver_failed');
  return { code, message: error.message.slice(0, 4096) };
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
