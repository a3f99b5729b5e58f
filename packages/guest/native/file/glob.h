/* Patterns of paths: * ? [] within a component, ** across components, {a,b} for either. */
#ifndef CAISSON_GLOB_H
#define CAISSON_GLOB_H

#include <stdbool.h>

/*
 * Bounded: a pattern that would need more than a fixed number of steps matches nothing. `braces` false takes { and } as
 * themselves, as .gitignore does.
 */
bool glob_match(const char *pattern, const char *path, bool braces);

#endif
