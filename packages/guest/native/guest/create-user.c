#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "log.h"

/* O_APPEND in one write: no reader sees half a line. */
static bool append(const char *path, const char *line) {
  int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) return false;
  char text[256], last = '\n';
  off_t end = lseek(fd, 0, SEEK_END);
  if (end > 0) (void)!pread(fd, &last, 1, end - 1);
  int size = snprintf(text, sizeof text, "%s%s\n", last == '\n' ? "" : "\n", line);
  bool done = write(fd, text, (size_t)size) == size;
  close(fd);
  return done;
}

/* An image may have anything in the file's place: a pipe must not hold us. What is no file has no lines. */
static FILE *open_lines(const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  FILE *file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
  if (file == NULL && fd >= 0) close(fd);
  return file;
}

static bool has_line(const char *path, const char *prefix) {
  FILE *file = open_lines(path);
  if (file == NULL) return false;
  char line[512];
  bool found = false;
  while (!found && fgets(line, sizeof line, file) != NULL) found = strncmp(line, prefix, strlen(prefix)) == 0;
  fclose(file);
  return found;
}

void account_create_user(void) {
  bool complete = true;
  if (!has_line("/etc/group", "user:")) complete &= append("/etc/group", "user:x:1000:");
  if (!has_line("/etc/passwd", "user:")) {
    const char *shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
    char line[128];
    snprintf(line, sizeof line, "user:x:1000:1000::/home/user:%s", shell);
    complete &= append("/etc/passwd", line);
  }
  struct account user;
  if (!account_find("user", 4, &user) || strncmp(user.home, "/home/", 6) != 0) return;
  mkdir("/home", 0755);
  if (mkdir(user.home, 0755) == 0) complete &= chown(user.home, user.uid, user.gid) == 0;
  if (!complete) log_line("the user could not be written to the image; its built-in account serves");
}
