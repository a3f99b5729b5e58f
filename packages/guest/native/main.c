/* One program, several modes: `guest` inside a sandbox, `relay` beside it, and the others beside the server. */
#include <stdio.h>
#include <string.h>

#include "guest/guest.h"
#include "guest/version.h"
#include "host/host.h"
#include "step/step.h"
#include "tree/copy.h"
#include "tree/diff.h"
#include "tree/pack.h"
#include "unpack/unpack.h"

static const char usage[] =
  "usage: caisson-guest guest --sandbox ID (--socket PATH | --relay NAME) [--incarnation N] [--secret-fd N] [--create-user] [--directory PATH]\n"
  "       caisson-guest relay --relay NAME\n"
  "       caisson-guest host [--lock FILE]\n"
  "       caisson-guest without MOUNT PROGRAM [ARGUMENT...]\n"
  "       caisson-guest step FOLDER [PORT...] -- PROGRAM [ARGUMENT...]\n"
  "       caisson-guest unpack FOLDER [--max-bytes N] [--max-entries N] [--access-lists 1] < archive.tar\n"
  "       caisson-guest copy FROM TO\n"
  "       caisson-guest pack FOLDER [--max-bytes N] [--max-entries N] [--impersonal TIME [--owner ID]] > archive.tar\n"
  "       caisson-guest diff BEFORE AFTER [--changes BEFORE AFTER] [--below PATH] [--after PATH] [--max-items N] [--max-ms N]\n"
  "       caisson-guest version\n";

int main(int argc, char **argv) {
  int result = 2;
  if (argc >= 2 && strcmp(argv[1], "guest") == 0) result = guest_main(argc - 2, argv + 2);
  else if (argc >= 2 && strcmp(argv[1], "relay") == 0) result = relay_main(argc - 2, argv + 2);
  else if (argc >= 2 && strcmp(argv[1], "host") == 0) result = host_main(argc - 2, argv + 2);
  else if (argc >= 4 && strcmp(argv[1], "without") == 0) result = without_main(argc - 2, argv + 2);
  else if (argc >= 3 && strcmp(argv[1], "step") == 0) result = step_main(argc - 2, argv + 2);
  else if (argc >= 3 && strcmp(argv[1], "unpack") == 0) result = unpack_main(argc - 2, argv + 2);
  else if (argc >= 2 && strcmp(argv[1], "copy") == 0) result = copy_main(argc - 2, argv + 2);
  else if (argc >= 3 && strcmp(argv[1], "pack") == 0) result = pack_main(argc - 2, argv + 2);
  else if (argc >= 4 && strcmp(argv[1], "diff") == 0) result = diff_main(argc - 2, argv + 2);
  else if (argc == 2 && strcmp(argv[1], "version") == 0) result = puts(guest_version) < 0;
  if (result == 2) fputs(usage, stderr);
  return result;
}
