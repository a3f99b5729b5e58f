#ifndef CAISSON_GUEST_H
#define CAISSON_GUEST_H

int guest_main(int argc, char **argv);
int relay_main(int argc, char **argv);

#endif
