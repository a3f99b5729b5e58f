import { CaissonError, type ErrorCode } from '@caisson/contract';

/**
 * Codes of failures that another backend might not have. Everything else is of the request, of the image, or of Caisson
 * itself, and would fail elsewhere too.
 */
const backendFaults: readonly ErrorCode[] = [
  'driver_failed',
  'driver_unavailable',
  'driver_timeout',
  'guest_failed',
  'guest_unreachable',
  'instance_lost',
  'storage_failed',
  'storage_full',
  'self_check_failed',
];

export function isBackendFault(error: unknown): error is CaissonError {
  return error instanceof CaissonError && backendFaults.includes(error.code);
}
