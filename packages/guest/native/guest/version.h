#ifndef CAISSON_VERSION_H
#define CAISSON_VERSION_H

#ifndef CAISSON_VERSION
#define CAISSON_VERSION "0.1.0"
#endif
static const char guest_version[] = CAISSON_VERSION;

#endif
