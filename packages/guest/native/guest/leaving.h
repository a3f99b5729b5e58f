/* Workers that were told to go and may have something to remove first. Who does not go in time is killed: it was stopped. */
#ifndef CAISSON_LEAVING_H
#define CAISSON_LEAVING_H

#include <stdbool.h>
#include <sys/types.h>

void leaving_add(pid_t pid);
/* True when the child was one of them. */
bool leaving_reaped(pid_t pid);

#endif
