import { CaissonError, type ErrorCode } from '@caisson/contract';
import { expect, test } from 'vitest';
import { failureReason } from './failure.ts';

test.each<[ErrorCode, string]>([
  ['image_not_found', 'image_unavailable'],
  ['image_invalid', 'image_unavailable'],
  ['image_too_large', 'image_unavailable'],
  ['registry_failed', 'image_unavailable'],
  ['unsupported-os', 'image_unavailable'],
  ['build_failed', 'build_failed'],
  ['build_cancelled', 'build_failed'],
  ['disk_quota_exceeded', 'disk_full'],
  ['storage_full', 'storage_failed'],
  ['source_denied', 'source_failed'],
  ['startup_failed', 'startup_failed'],
  ['guest_failed', 'guest_gone'],
  ['driver_failed', 'driver_failed'],
  ['spec_invalid', 'driver_failed'],
])('a failure with %s is kept as %s, with its words', (code, reason) => {
  expect(failureReason(new CaissonError(code, 'why\u0007'))).toEqual({ code: reason, message: 'why\ufffd' });
});
