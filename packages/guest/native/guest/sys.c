/* sys.info and sys.stats. (sys.sync is a worker's: it may take long. sys.shutdown is in exit.c.) */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "connection.h"
#include "oom.h"
#include "process.h"
#include "ring.h"
#include "sys.h"
#include "version.h"

static int64_t started_wall, started_mono;

void sys_started(void) {
  started_wall = wall_now();
  started_mono = loop_now();
}

void info_begin(struct channel *ch, struct slice params) {
  (void)params;
  struct utsname name;
  uname(&name);
  uint8_t buffer[1024];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_text(&w, CAISSON_TAG_SYS_INFO_RESULT_GUEST_VERSION, guest_version);
  write_bytes(&w, CAISSON_TAG_SYS_INFO_RESULT_BOOT_ID, boot_id(), 16);
  write_text_cut(&w, CAISSON_TAG_SYS_INFO_RESULT_KERNEL, name.release, 256);
  write_text_cut(&w, CAISSON_TAG_SYS_INFO_RESULT_MACHINE, name.machine, 64);
  write_text_cut(&w, CAISSON_TAG_SYS_INFO_RESULT_HOSTNAME, name.nodename, 256);
  write_uint(&w, CAISSON_TAG_SYS_INFO_RESULT_STARTED_AT, (uint64_t)started_wall);
  channel_answer(ch, &w);
}

static uint64_t count_descriptors(void) {
  DIR *directory = opendir("/proc/self/fd");
  if (directory == NULL) return 0;
  uint64_t count = 0;
  while (readdir(directory) != NULL) count++;
  closedir(directory);
  return count < 3 ? 0 : count - 3; /* ".", ".." and the directory itself */
}

static uint64_t resident_kib(void) {
  char text[128] = "";
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  (void)!read(fd, text, sizeof text - 1);
  close(fd);
  char *second = strchr(text, ' ');
  return second == NULL ? 0 : strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

void stats_begin(struct channel *ch, struct slice params) {
  (void)params;
  struct statvfs disk;
  bool known = statvfs("/", &disk) == 0;
  uint64_t block = known ? disk.f_frsize : 0;
  uint8_t buffer[512];
  struct writer w = writer_on(buffer, sizeof buffer);
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_PROCESSES, process_count(RUNNING) + process_count(STARTING));
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_KEPT_PROCESSES, process_count(ENDED));
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_RING_BYTES, ring_total());
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_DESCRIPTORS, count_descriptors());
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_RESIDENT_KI_B, resident_kib());
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_MEMORY_BYTES, cgroup_memory_bytes());
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_CPU_MILLISECONDS, cgroup_cpu_ms());
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_DISK_USED_BYTES, known ? (disk.f_blocks - disk.f_bfree) * block : 0);
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_DISK_TOTAL_BYTES, known ? disk.f_blocks * block : 0);
  write_uint(&w, CAISSON_TAG_SYS_STATS_RESULT_UPTIME_MS, (uint64_t)(loop_now() - started_mono));
  channel_answer(ch, &w);
}
