import type { DeclaredSkip } from './skips.ts';

/** What Debian's runsc cannot do. */
export const runscSkips: readonly DeclaredSkip[] = [
  {
    test: 'ends what takes more memory than the instance may have, and nothing else',
    reason: 'its kernel is one process of the host: too little memory ends the whole instance',
  },
  {
    test: 'refuses more processes than the instance may have, and goes on',
    reason: 'its kernel is one process of the host with many threads: the limit ends the whole instance',
  },
];
