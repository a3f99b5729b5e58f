#ifndef CAISSON_GUEST_TEST_H
#define CAISSON_GUEST_TEST_H

#include <stdbool.h>

void check_that(bool holds, const char *what, const char *file, int line);
#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)

void test_wire(void);
void test_ring(void);
void test_worker_input(void);
void test_loop(void);
void test_patterns(void);
void test_tar(void);

#endif
