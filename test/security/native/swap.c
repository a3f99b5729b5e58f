/* swap A B: exchanges two names with each other in one step, again and again, until it is ended. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
  enum { exchange = 2 };
  if (argc != 3) return 2;
  for (;;)
    if (syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], exchange) != 0) {
      perror("swap");
      return 1;
    }
}
