#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* By the master where the kernel can, so that nobody's mount over /dev/pts can put another file there. */
static int open_peer(int master) {
  int fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (fd >= 0) return fd;
  unsigned number;
  char path[32];
  if (ioctl(master, TIOCGPTN, &number) != 0) return -1;
  snprintf(path, sizeof path, "/dev/pts/%u", number);
  return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

bool pty_by_line(int master) {
  struct termios modes;
  return tcgetattr(master, &modes) == 0 && (modes.c_lflag & ICANON) != 0;
}

bool pty_resize(int master, uint16_t rows, uint16_t columns) {
  struct winsize size = {.ws_row = rows, .ws_col = columns};
  return ioctl(master, TIOCSWINSZ, &size) == 0;
}

bool pty_open(uint16_t rows, uint16_t columns, uint32_t uid, int *master, int *terminal) {
  int unlock = 0;
  *master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (*master < 0) return false;
  if (ioctl(*master, TIOCSPTLCK, &unlock) != 0) return false;
  *terminal = open_peer(*master);
  if (*terminal < 0) return false;
  /* So that the program may open it by name again; where that is not allowed, it has its descriptors. */
  (void)!fchown(*terminal, uid, (gid_t)-1);
  return pty_resize(*master, rows, columns);
}
