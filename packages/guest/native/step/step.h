#ifndef CAISSON_STEP_H
#define CAISSON_STEP_H

int step_main(int argc, char **argv);

#endif
