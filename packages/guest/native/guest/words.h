/* The words of a command: its arguments, its environment, its tags, and the line that a list shows of it. */
#ifndef CAISSON_WORDS_H
#define CAISSON_WORDS_H

#include "../wire/message.h"
#include "launch.h"

struct process;

/* argv and env of the launch; false without memory for them. */
bool words_gather(struct slice params, struct launch *out);
/* The command as one line; NULL without memory. */
char *words_command(struct slice params);
bool words_tags(struct process *p, struct slice params);

#endif
