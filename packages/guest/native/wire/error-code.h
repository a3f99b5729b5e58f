/* What the kernel answers, as the protocol's closed table of errors has it. */
#ifndef CAISSON_ERROR_CODE_H
#define CAISSON_ERROR_CODE_H

#include <stdint.h>

uint8_t error_code(int error);

#endif
