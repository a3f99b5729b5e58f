/* Whether the memory controller has killed somebody in this sandbox. */
#ifndef CAISSON_OOM_H
#define CAISSON_OOM_H

#include <stdbool.h>
#include <stdint.h>

void oom_open(void);
/* True once for each kill that the kernel counted since the last call that said so. */
bool oom_take_kill(void);
/* Of the sandbox: bytes of memory, milliseconds of processor time; 0 where the kernel does not tell. */
uint64_t cgroup_memory_bytes(void);
uint64_t cgroup_cpu_ms(void);

#endif
