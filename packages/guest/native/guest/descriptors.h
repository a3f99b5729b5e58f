/* How many descriptors the guest may hold: more than its children begin with, for it holds several for each of them. */
#ifndef CAISSON_DESCRIPTORS_H
#define CAISSON_DESCRIPTORS_H

#include <sys/resource.h>

/* Raises the guest's own soft limit as far as it goes. */
void descriptors_raise(void);
/* For a mode that walks trees, which takes a descriptor for each level: so many, or as many as the hard limit has. */
void descriptors_allow(rlim_t most);
/* What a child begins with; NULL when nothing was raised. */
const struct rlimit *descriptors_of_children(void);
/* Closes every descriptor from this one on; in a child. */
void descriptors_close_from(int first);

#endif
