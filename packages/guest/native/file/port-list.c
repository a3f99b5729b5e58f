/* port.list: who listens, by the tables of /proc/net, and which process holds it, by the descriptors of /proc. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "batch.h"

enum { ports_max = 4096, state_listen = 0x0a };

struct listener {
  unsigned port, uid, pid;
  unsigned long inode;
  char address[64];
};

static struct listener *found;
static size_t count;

/* The address stands as words of the machine's order, in hexadecimal. */
static void address_text(const char *hex, bool v6, char out[64]) {
  uint32_t words[4] = {0};
  for (int i = 0; i < (v6 ? 4 : 1); i++) {
    char word[9];
    memcpy(word, hex + 8 * i, 8);
    word[8] = 0;
    words[i] = (uint32_t)strtoul(word, NULL, 16);
  }
  inet_ntop(v6 ? AF_INET6 : AF_INET, words, out, 64);
}

/* Words of the line, in place; how many. */
static int split(char *line, char **fields, int max) {
  int n = 0;
  for (char *at = strtok(line, " \n"); at != NULL && n < max; at = strtok(NULL, " \n")) fields[n++] = at;
  return n;
}

static void read_table(const char *path, bool v6) {
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  char line[512];
  while (count < ports_max && fgets(line, sizeof line, file) != NULL) {
    char *fields[10];
    if (split(line, fields, 10) < 10) continue;
    /* sl, local address:port, remote, state, queues, timer, retransmissions, uid, timeout, inode */
    char *colon = strchr(fields[1], ':');
    unsigned long port = colon == NULL ? 0 : strtoul(colon + 1, NULL, 16);
    if (strtoul(fields[3], NULL, 16) != state_listen || port == 0 || port > 65535) continue;
    if (colon - fields[1] != (v6 ? 32 : 8)) continue;
    struct listener *l = &found[count++];
    *l = (struct listener){.port = (unsigned)port, .uid = (unsigned)strtoul(fields[7], NULL, 10),
                           .inode = strtoul(fields[9], NULL, 10)};
    address_text(fields[1], v6, l->address);
  }
  fclose(file);
}

static void look_at(const char *pid) {
  char path[300], target[64];
  snprintf(path, sizeof path, "/proc/%s/fd", pid);
  DIR *directory = opendir(path);
  if (directory == NULL) return;
  struct dirent *fd;
  while ((fd = readdir(directory)) != NULL) {
    ssize_t size = readlinkat(dirfd(directory), fd->d_name, target, sizeof target - 1);
    if (size < 0) continue;
    target[size] = 0;
    if (strncmp(target, "socket:[", 8) != 0) continue;
    unsigned long inode = strtoul(target + 8, NULL, 10);
    for (size_t i = 0; i < count; i++)
      if (found[i].inode == inode && found[i].pid == 0) found[i].pid = (unsigned)atoi(pid);
  }
  closedir(directory);
}

static void find_holders(void) {
  DIR *proc = opendir("/proc");
  if (proc == NULL) return;
  struct dirent *entry;
  while ((entry = readdir(proc)) != NULL)
    if (isdigit((unsigned char)entry->d_name[0])) look_at(entry->d_name);
  closedir(proc);
}

static int by_port(const void *a, const void *b) {
  const struct listener *x = a, *y = b;
  if (x->port != y->port) return x->port < y->port ? -1 : 1;
  return strcmp(x->address, y->address);
}

void do_port_list(struct slice params) {
  static struct batch batch;
  (void)params;
  count = 0;
  found = calloc(ports_max, sizeof *found);
  if (found == NULL) return reply_code(CAISSON_ERROR_OUT_OF_MEMORY, 0, "no memory for the list");
  read_table("/proc/net/tcp", false);
  read_table("/proc/net/tcp6", true);
  if (count > 0) find_holders();
  qsort(found, count, sizeof *found, by_port);
  batch_open(&batch, CAISSON_TAG_PORT_BATCH_PORTS, 256);
  for (size_t i = 0; i < count; i++) {
    do {
      batch_item(&batch);
      write_uint(&batch.writer, CAISSON_TAG_LISTENING_PORT_PORT, found[i].port);
      write_text(&batch.writer, CAISSON_TAG_LISTENING_PORT_ADDRESS, found[i].address);
      if (found[i].pid > 0) write_uint(&batch.writer, CAISSON_TAG_LISTENING_PORT_PID, found[i].pid);
      write_uint(&batch.writer, CAISSON_TAG_LISTENING_PORT_UID, found[i].uid);
    } while (!batch_end(&batch));
  }
  batch_flush(&batch);
  free(found);
  reply_nothing();
}
