#include "tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places of a ustar header. */
enum {
  at_name = 0,
  at_mode = 100,
  at_uid = 108,
  at_gid = 116,
  at_size = 124,
  at_mtime = 136,
  at_sum = 148,
  at_type = 156,
  at_link = 157,
  at_magic = 257,
  at_major = 329,
  at_minor = 337,
  at_prefix = 345,
};

static bool number(const uint8_t *at, size_t size, uint64_t *out) {
  *out = 0;
  if (at[0] & 0x80) {
    /* GNU's base 256, for what octal digits cannot say. */
    *out = at[0] & 0x3f;
    for (size_t i = 1; i < size; i++) {
      if (*out >> 54) return false;
      *out = *out << 8 | at[i];
    }
    return (at[0] & 0x40) == 0;
  }
  size_t i = 0;
  while (i < size && at[i] == ' ') i++;
  for (; i < size && at[i] != 0 && at[i] != ' '; i++) {
    if (at[i] < '0' || at[i] > '7') return false;
    *out = *out << 3 | (uint64_t)(at[i] - '0');
  }
  return true;
}

static void text(const uint8_t *at, size_t size, char *out) {
  size_t length = strnlen((const char *)at, size);
  memcpy(out, at, length);
  out[length] = 0;
}

static unsigned checksum(const uint8_t block[tar_block]) {
  unsigned sum = 0;
  for (int i = 0; i < tar_block; i++) sum += i >= at_sum && i < at_sum + 8 ? ' ' : block[i];
  return sum;
}

bool tar_decode(const uint8_t block[tar_block], struct tar_member *m, bool *zero) {
  uint64_t sum, mode, uid, gid, mtime, major, minor;
  *zero = true;
  for (int i = 0; i < tar_block && *zero; i++) *zero = block[i] == 0;
  if (*zero) return true;
  memset(m, 0, sizeof *m);
  if (!number(block + at_sum, 8, &sum) || sum != checksum(block)) return false;
  if (!number(block + at_mode, 8, &mode) || !number(block + at_uid, 8, &uid) || !number(block + at_gid, 8, &gid) ||
      !number(block + at_size, 12, &m->size) || !number(block + at_mtime, 12, &mtime))
    return false;
  m->mode = (uint32_t)mode & 07777;
  m->uid = (uint32_t)uid;
  m->gid = (uint32_t)gid;
  m->mtime = (int64_t)mtime;
  m->type = block[at_type] == 0 ? '0' : (char)block[at_type];
  if (m->size > (uint64_t)1 << 53) return false;
  if (number(block + at_major, 8, &major)) m->major = (uint32_t)major;
  if (number(block + at_minor, 8, &minor)) m->minor = (uint32_t)minor;
  size_t used = 0;
  if (memcmp(block + at_magic, "ustar\0", 6) == 0 && block[at_prefix] != 0) {
    text(block + at_prefix, 155, m->path);
    used = strlen(m->path);
    m->path[used++] = '/';
  }
  text(block + at_name, 100, m->path + used);
  text(block + at_link, 100, m->link);
  return true;
}

static bool take(char *to, const char *value, size_t size) {
  if (size >= path_bytes || memchr(value, 0, size) != NULL) return false;
  memcpy(to, value, size);
  to[size] = 0;
  return true;
}

static bool take_number(const char *value, size_t size, uint64_t most, uint64_t *out) {
  *out = 0;
  for (size_t i = 0; i < size && value[i] != '.'; i++) {
    if (value[i] < '0' || value[i] > '9' || *out > most / 10) return false;
    *out = *out * 10 + (uint64_t)(value[i] - '0');
  }
  return *out <= most;
}

static bool apply(struct tar_member *m, const char *key, size_t key_size, const char *value, size_t size) {
  uint64_t n;
#define IS(name) (key_size == sizeof name - 1 && memcmp(key, name, key_size) == 0)
  if (IS("path")) return take(m->path, value, size);
  if (IS("linkpath")) return take(m->link, value, size);
  if (IS("size")) return take_number(value, size, (uint64_t)1 << 53, &m->size);
  if (IS("uid") || IS("gid")) {
    if (!take_number(value, size, 4294967294u, &n)) return false;
    if (IS("uid")) m->uid = (uint32_t)n;
    else m->gid = (uint32_t)n;
    return true;
  }
  if (IS("mtime")) {
    /* Before 1970 is not worth a fault. */
    m->mtime = take_number(value, size, (uint64_t)1 << 40, &n) ? (int64_t)n : 0;
    return true;
  }
#undef IS
  return true;
}

bool tar_apply_pax(struct tar_member *m, const char *text_at, size_t size) {
  size_t at = 0;
  while (at < size && text_at[at] != 0) {
    /* "length key=value\n", where the length counts all of it. */
    size_t length = 0, digits = at;
    while (digits < size && text_at[digits] >= '0' && text_at[digits] <= '9' && length < size)
      length = length * 10 + (size_t)(text_at[digits++] - '0');
    if (digits >= size || text_at[digits] != ' ' || length > size - at || length < digits - at + 3) return false;
    const char *key = text_at + digits + 1, *end = text_at + at + length - 1;
    if (key > end || *end != '\n') return false;
    const char *equals = memchr(key, '=', (size_t)(end - key));
    if (equals == NULL) return false;
    if (!apply(m, key, (size_t)(equals - key), equals + 1, (size_t)(end - equals - 1))) return false;
    at += length;
  }
  return true;
}

bool tar_clean_path(char *path) {
  char *out = path;
  for (char *at = path; *at != 0;) {
    while (*at == '/') at++;
    size_t size = strcspn(at, "/");
    if (size == 2 && at[0] == '.' && at[1] == '.') return false;
    if (size > 0 && !(size == 1 && at[0] == '.')) {
      if (out != path) *out++ = '/';
      memmove(out, at, size);
      out += size;
    }
    at += size;
  }
  *out = 0;
  return true;
}

static void put_octal(uint8_t *at, size_t size, uint64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%0*llo", (int)size - 1, (unsigned long long)value);
  memcpy(at, digits, size - 1);
}

static void encode_block(uint8_t *block, const struct tar_member *m, const char *path, const char *link) {
  memset(block, 0, tar_block);
  memcpy(block + at_name, path, strnlen(path, 100));
  memcpy(block + at_link, link, strnlen(link, 100));
  put_octal(block + at_mode, 8, m->mode & 07777);
  put_octal(block + at_uid, 8, m->uid > 07777777 ? 0 : m->uid);
  put_octal(block + at_gid, 8, m->gid > 07777777 ? 0 : m->gid);
  put_octal(block + at_size, 12, m->size > 077777777777ull ? 0 : m->size);
  put_octal(block + at_mtime, 12, m->mtime < 0 ? 0 : (uint64_t)m->mtime & 077777777777ull);
  block[at_type] = (uint8_t)m->type;
  memcpy(block + at_magic, "ustar\00000", 8);
  put_octal(block + at_major, 8, m->major & 07777777);
  put_octal(block + at_minor, 8, m->minor & 07777777);
  snprintf((char *)block + at_sum, 8, "%06o", checksum(block));
  block[at_sum + 7] = ' ';
}

size_t tar_put_record(char *out, const char *key, const void *value, size_t size) {
  size_t body = strlen(key) + size + 3, length = body;
  /* The length counts its own digits. */
  for (size_t digits = 1, power = 10;; digits++, power *= 10) {
    length = body + digits;
    if (length < power) break;
  }
  char *at = out + sprintf(out, "%zu %s=", length, key);
  memcpy(at, value, size);
  at[size] = '\n';
  return length;
}

static size_t put_record(char *out, const char *key, const char *value) {
  return tar_put_record(out, key, value, strlen(value));
}

size_t tar_encode(const struct tar_member *m, uint8_t out[32 * tar_block]) { return tar_encode_with(m, "", 0, out); }

size_t tar_encode_with(const struct tar_member *m, const char *given, size_t given_size, uint8_t *out) {
  char digits[24];
  char *records = (char *)out + tar_block;
  size_t size = given_size;
  memcpy(records, given, given_size);
  if (strlen(m->path) > 100) size += put_record(records + size, "path", m->path);
  if (strlen(m->link) > 100) size += put_record(records + size, "linkpath", m->link);
  if (m->size > 077777777777ull) {
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)m->size);
    size += put_record(records + size, "size", digits);
  }
  if (m->uid > 07777777 || m->gid > 07777777) {
    snprintf(digits, sizeof digits, "%u", m->uid);
    size += put_record(records + size, "uid", digits);
    snprintf(digits, sizeof digits, "%u", m->gid);
    size += put_record(records + size, "gid", digits);
  }
  size_t used = 0;
  if (size > 0) {
    struct tar_member pax = {.type = 'x', .mode = 0644, .size = size, .mtime = m->mtime};
    encode_block(out, &pax, "pax", "");
    used = tar_block + (size + tar_block - 1) / tar_block * tar_block;
    memset(records + size, 0, used - tar_block - size);
  }
  encode_block(out + used, m, m->path, m->link);
  return used + tar_block;
}
