import type { StartedGuest } from './start-guest.ts';

/** A guest that the tests of one suite share; started before them and stopped after. */
export interface GuestUnderTest {
  readonly guest: () => StartedGuest;
}
