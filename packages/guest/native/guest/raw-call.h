/*
 * System calls without libc's errno: a launching child shares the guest's memory, errno included, while the guest goes
 * on. A negative answer is the error.
 */
#ifndef CAISSON_RAW_CALL_H
#define CAISSON_RAW_CALL_H

#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw_call(long number, long a, long b, long c, long d) {
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return number;
}
#elif defined(__aarch64__)
static inline long raw_call(long number, long a, long b, long c, long d) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
#else
#error "the guest knows x86-64 and arm64"
#endif

#endif
