import { CaissonError, type ErrorCode } from '@caisson/contract';
import { expect, test } from 'vitest';
import { failureReason } from './failure.ts';

test.each<[ErrorCode, string]>([
  ['registry_failed', 'image_failed'],
  ['image_not_found', 'image_failed'],
  ['unsupported-os', 'image_failed'],
  ['disk_quota_exceeded', 'disk_full'],
  ['source_denied', 'source_failed'],
  ['startup_failed', 'startup_failed'],
  ['driver_failed', 'driver_failed'],
])('a failure with %s is kept as %s, with its words', (code, reason) => {
  expect(failureReason(new CaissonError(code, 'why\u0007'))).toEqual({ code: reason, message: 'why\ufffd' });
});
