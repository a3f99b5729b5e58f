#include "oom.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int counter_fd = -1, memory_fd = -1, cpu_fd = -1;
static bool cpu_is_v2;
static uint64_t taken;

static int open_in(const char *base, const char *group, const char *name) {
  char path[1024];
  int size = snprintf(path, sizeof path, "%s%s/%s", base, group, name);
  return size < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

/* The group as /proc tells it, else the root of what is mounted: with a cgroup namespace those are the same. */
static int open_both(const char *base, const char *group, const char *name) {
  int fd = group[0] == 0 ? -1 : open_in(base, group, name);
  return fd >= 0 ? fd : open_in(base, "", name);
}

/* The path after "id:controllers:" of the line that names the controller; v2 has the line "0::path". */
static void group_of(const char *text, const char *controller, char path[512]) {
  path[0] = 0;
  for (const char *line = text; line != NULL && *line != 0;) {
    const char *end = strchr(line, '\n');
    const char *names = strchr(line, ':');
    const char *group = names == NULL ? NULL : strchr(names + 1, ':');
    if (group != NULL) {
      size_t length = (size_t)(group - names - 1), wanted = strlen(controller);
      const char *found = length < wanted ? NULL : strstr(names + 1, controller);
      bool match = wanted == 0 ? length == 0 : found != NULL && found + wanted <= group;
      size_t size = end == NULL ? strlen(group + 1) : (size_t)(end - group - 1);
      if (match && size < 512 && size > 1) {
        memcpy(path, group + 1, size);
        path[size] = 0;
      }
    }
    line = end == NULL ? NULL : end + 1;
  }
}

static size_t read_text(int fd, char *text, size_t size) {
  ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
  text[n < 0 ? 0 : n] = 0;
  return n < 0 ? 0 : (size_t)n;
}

static uint64_t number_after(const char *text, const char *key) {
  const char *at = strstr(text, key);
  return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

uint64_t oom_kills(void) {
  char text[512];
  read_text(counter_fd, text, sizeof text);
  return number_after(text, "oom_kill ");
}

void oom_open(void) {
  char text[4096], v2[512], memory[512], cpu[512];
  int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  read_text(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  group_of(text, "", v2);
  group_of(text, "memory", memory);
  group_of(text, "cpuacct", cpu);
  counter_fd = open_both("/sys/fs/cgroup", v2, "memory.events");
  if (counter_fd < 0) counter_fd = open_both("/sys/fs/cgroup/memory", memory, "memory.oom_control");
  memory_fd = open_both("/sys/fs/cgroup", v2, "memory.current");
  if (memory_fd < 0) memory_fd = open_both("/sys/fs/cgroup/memory", memory, "memory.usage_in_bytes");
  cpu_fd = open_both("/sys/fs/cgroup", v2, "cpu.stat");
  cpu_is_v2 = cpu_fd >= 0;
  if (cpu_fd < 0) cpu_fd = open_both("/sys/fs/cgroup/cpuacct", cpu, "cpuacct.usage");
  if (cpu_fd < 0) cpu_fd = open_both("/sys/fs/cgroup/cpu,cpuacct", cpu, "cpuacct.usage");
  taken = oom_kills();
}

bool oom_take_kill(uint64_t before) {
  /* Kills that nobody took were of programs that others wait for. Who began after them did not die of them. */
  uint64_t known = before > taken ? before : taken;
  if (counter_fd < 0 || oom_kills() <= known) return false;
  taken = known + 1;
  return true;
}

uint64_t cgroup_memory_bytes(void) {
  char text[64];
  return read_text(memory_fd, text, sizeof text) == 0 ? 0 : strtoull(text, NULL, 10);
}

uint64_t cgroup_cpu_ms(void) {
  char text[1024];
  if (read_text(cpu_fd, text, sizeof text) == 0) return 0;
  return cpu_is_v2 ? number_after(text, "usage_usec ") / 1000 : strtoull(text, NULL, 10) / 1000000;
}
