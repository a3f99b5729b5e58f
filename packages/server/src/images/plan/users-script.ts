import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import { shellQuote } from '../shell/shell-quote.ts';

/**
 * Makes users and sets login shells, by the shell's own words: the programs for it differ everywhere, and the smallest
 * bases have not even `sed`. The files are replaced, not written into, because some bases have links in their place.
 */
export function usersScript(users: ResolvedImagePlan['users'], etc = '/etc', root = ''): string {
  const [passwd, group] = [`${etc}/passwd`, `${etc}/group`].map(shellQuote) as [string, string];
  const lines = users.flatMap(({ name, uid, gid, home, shell }) => [
    'found=',
    'while IFS= read -r line; do',
    `  case "$line" in ${shellQuote(`${name}:`)}*) found=1; line="\${line%:*}":${shellQuote(shell)} ;; esac`,
    '  printf \'%s\\n\' "$line"',
    `done < ${passwd} > ${passwd}.new`,
    'if [ -z "$found" ]; then',
    `  printf '%s\\n' ${shellQuote(`${name}:x:${uid}:${gid}::${home}:${shell}`)} >> ${passwd}.new`,
    `  cat ${group} > ${group}.new`,
    `  printf '%s\\n' ${shellQuote(`${name}:x:${gid}:`)} >> ${group}.new`,
    `  chmod 644 ${group}.new`,
    `  mv -f ${group}.new ${group}`,
    'fi',
    `chmod 644 ${passwd}.new`,
    `mv -f ${passwd}.new ${passwd}`,
    `mkdir -p ${shellQuote(`${root}${home}`)}`,
    `chown ${uid}:${gid} ${shellQuote(`${root}${home}`)}`,
  ]);
  return ['set -eu', ...lines].join('\n');
}
