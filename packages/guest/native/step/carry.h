#ifndef CAISSON_STEP_CARRY_H
#define CAISSON_STEP_CARRY_H

/* Joins a connection to the socket at `path`, both ways, until both are at their end. Never returns. */
_Noreturn void carry(int client, const char *path);

#endif
