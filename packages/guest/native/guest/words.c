#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

enum { command_max = 1024 };

static size_t count_items(struct slice params, uint16_t tag, size_t *bytes) {
  size_t cursor = 0, count = 0;
  struct slice item;
  while (message_next(params, tag, &cursor, &item)) {
    count++;
    *bytes += item.size + 1;
  }
  return count;
}

static void copy_items(struct slice params, uint16_t tag, char **list, size_t at, char **text) {
  size_t cursor = 0;
  struct slice item;
  while (message_next(params, tag, &cursor, &item)) {
    list[at++] = *text;
    if (item.size > 0) memcpy(*text, item.at, item.size);
    (*text)[item.size] = 0;
    *text += item.size + 1;
  }
  list[at] = NULL;
}

static bool names(const char *entry, size_t size, const char *name, size_t length) {
  return size > length && memcmp(entry, name, length) == 0 && entry[length] == '=';
}

static bool is_given(struct slice params, const char *name, size_t length) {
  size_t cursor = 0;
  struct slice item;
  while (message_next(params, CAISSON_TAG_PROCESS_SPAWN_ENV, &cursor, &item))
    if (names((const char *)item.at, item.size, name, length)) return true;
  return false;
}

static size_t count_own(void) {
  size_t count = 0;
  while (environ[count] != NULL) count++;
  return count;
}

/* Who a process is; a runtime sets some of them for the guest, and they are not its children's. */
static bool is_identity(const char *entry, size_t length) {
  static const char *const identity[] = {"HOME", "USER", "SHELL"};
  for (size_t i = 0; i < 3; i++)
    if (strlen(identity[i]) == length && memcmp(identity[i], entry, length) == 0) return true;
  return false;
}

/* What the sandbox was launched with, where the caller's do not name it. The strings are the guest's own. */
static size_t own_env(char **list, struct slice params) {
  size_t count = 0;
  for (char **entry = environ; *entry != NULL; entry++) {
    const char *equals = strchr(*entry, '=');
    size_t length = equals == NULL ? 0 : (size_t)(equals - *entry);
    if (length > 0 && !is_identity(*entry, length) && !is_given(params, *entry, length)) list[count++] = *entry;
  }
  return count;
}

/* The variables of a login, where neither the caller's nor the sandbox's name them. */
static size_t login_env(char **list, char *text, size_t room, const struct account *a, struct slice params, bool pty) {
  static const char *const variables[] = {"PATH", "HOME", "USER", "SHELL", "TERM"};
  const char *values[] = {"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", a->home, a->name, a->shell,
                          pty ? "xterm-256color" : "dumb"};
  size_t count = 0;
  for (size_t i = 0; i < 5; i++) {
    bool own = getenv(variables[i]) != NULL && !is_identity(variables[i], strlen(variables[i]));
    if (own || is_given(params, variables[i], strlen(variables[i]))) continue;
    int size = snprintf(text, room, "%s=%s", variables[i], values[i]);
    if (size < 0 || (size_t)size >= room) continue;
    list[count++] = text;
    text += size + 1;
    room -= (size_t)size + 1;
  }
  return count;
}

bool words_gather(struct slice params, struct launch *out) {
  enum { login_count = 5, login_bytes = 4 * 1024 };
  size_t bytes = 0;
  size_t argc = count_items(params, CAISSON_TAG_PROCESS_SPAWN_ARGV, &bytes);
  size_t envc = count_items(params, CAISSON_TAG_PROCESS_SPAWN_ENV, &bytes) + login_count + count_own();
  size_t needed = (argc + envc + 2) * sizeof(char *) + bytes + login_bytes;
  char **lists = needed <= sizeof out->room ? out->room : malloc(needed);
  if (lists == NULL) return false;
  out->argv = lists;
  out->env = lists + argc + 1;
  char *text = (char *)(lists + argc + envc + 2);
  size_t base = 0;
  if (message_bool(params, CAISSON_TAG_PROCESS_SPAWN_INHERIT_ENV)) {
    base = own_env(out->env, params);
    base += login_env(out->env + base, text, login_bytes, &out->account, params, out->pty);
  }
  text += login_bytes;
  copy_items(params, CAISSON_TAG_PROCESS_SPAWN_ARGV, out->argv, 0, &text);
  copy_items(params, CAISSON_TAG_PROCESS_SPAWN_ENV, out->env, base, &text);
  return true;
}

char *words_command(struct slice params) {
  size_t whole = 0, size = 0, cursor = 0;
  struct slice item;
  count_items(params, CAISSON_TAG_PROCESS_SPAWN_ARGV, &whole);
  char *command = malloc((whole < command_max ? whole : command_max) + 1);
  if (command == NULL) return NULL;
  while (size < command_max && message_next(params, CAISSON_TAG_PROCESS_SPAWN_ARGV, &cursor, &item)) {
    if (size > 0) command[size++] = ' ';
    size_t n = item.size < command_max - size ? item.size : command_max - size;
    if (n > 0) memcpy(command + size, item.at, n);
    size += n;
  }
  command[size] = 0;
  return command;
}

bool words_tags(struct process *p, struct slice params) {
  size_t bytes = 0;
  p->tag_count = count_items(params, CAISSON_TAG_PROCESS_SPAWN_TAGS, &bytes);
  if (p->tag_count == 0) return true;
  p->tags = malloc(bytes);
  if (p->tags == NULL) return false;
  char *text = p->tags;
  size_t cursor = 0;
  struct slice item;
  while (message_next(params, CAISSON_TAG_PROCESS_SPAWN_TAGS, &cursor, &item)) {
    if (item.size > 0) memcpy(text, item.at, item.size);
    text[item.size] = 0;
    text += item.size + 1;
  }
  return true;
}
