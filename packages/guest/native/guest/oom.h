/* Whether the memory controller has killed somebody in this sandbox. */
#ifndef CAISSON_OOM_H
#define CAISSON_OOM_H

#include <stdbool.h>
#include <stdint.h>

void oom_open(void);
/* How often the kernel has killed so far; 0 where it does not tell. */
uint64_t oom_kills(void);
/* True once for each kill that the kernel counted beyond `before`. */
bool oom_take_kill(uint64_t before);
/* Of the sandbox: bytes of memory, milliseconds of processor time; 0 where the kernel does not tell. */
uint64_t cgroup_memory_bytes(void);
uint64_t cgroup_cpu_ms(void);

#endif
