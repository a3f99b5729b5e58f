import { CaissonError } from '@caisson/contract';
import { expect, test } from 'vitest';
import { failureReason } from './failure.ts';

test.each([
  ['image_not_found', 'image_unavailable'],
  ['image_invalid', 'image_unavailable'],
  ['image_too_large', 'image_unavailable'],
  ['registry_failed', 'image_unavailable'],
  ['build_failed', 'build_failed'],
  ['storage_full', 'storage_failed'],
  ['guest_failed', 'guest_gone'],
  ['spec_invalid', 'driver_failed'],
] as const)('a launch that fails with %s is recorded as %s', (code, reason) => {
  expect(failureReason(new CaissonError(code, 'so it was'))).toEqual({ code: reason, message: 'so it was' });
});
