import { buildVariant } from '../../build.mjs';
import { describeGuest } from '../../testing/describe-guest.ts';

/** The same suite with AddressSanitizer and UndefinedBehaviorSanitizer; what they find ends the guest and fails a test. */
describeGuest('the guest under sanitizers', () => ({
  binary: buildVariant('asan', { quiet: true }),
  env: { ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1', UBSAN_OPTIONS: 'print_stacktrace=1' },
}));
