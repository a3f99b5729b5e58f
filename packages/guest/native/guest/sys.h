#ifndef CAISSON_SYS_H
#define CAISSON_SYS_H

#include "channel.h"

void sys_started(void);
void info_begin(struct channel *ch, struct slice params);
void stats_begin(struct channel *ch, struct slice params);

#endif
