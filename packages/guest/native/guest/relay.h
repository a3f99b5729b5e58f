/*
 * What a relay and the guest say to each other before the first frame.
 *
 * The relay brings its own stdin and stdout along (SCM_RIGHTS). Where those are pipes that the guest can have for itself it
 * takes them, and frames need not pass through the relay, which only waits for the end. Otherwise the relay carries bytes.
 */
#ifndef CAISSON_RELAY_H
#define CAISSON_RELAY_H

enum { relay_brings = 'b', relay_taken = 't', relay_carry = 'c' };

#endif
