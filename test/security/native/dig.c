/* dig COUNT: folders in folders, COUNT deep, with names so long that no path names the last of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char name[201];
  memset(name, 'd', 200);
  name[200] = 0;
  for (int i = argc == 2 ? atoi(argv[1]) : 0; i > 0; i--)
    if (mkdir(name, 0755) != 0 || chdir(name) != 0) {
      perror("dig");
      return 1;
    }
  return 0;
}
