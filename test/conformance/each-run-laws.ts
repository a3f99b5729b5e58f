/**
 * The laws that Podman, runc and runsc are held to in each run: where they have been seen to differ from Docker and crun. They
 * need several times as long for the same; the rest of the laws, which is the same driver's work, runs among the long tests.
 */
const eachTime: ReadonlySet<string> = new Set([
  'is usable and says which version it is',
  'creates an instance that runs and is listed with its whole owner',
  'hands out the guest of each instance once, before it runs anything and again after a restart',
  'sees that an instance was removed behind its back',
  'lists an instance without a whole owner as an orphan and not as an instance',
  'pauses and resumes, where it can',
  'halts and begins again from what it kept, where it can',
  'measures an instance that runs, and refuses to measure one that is gone, where it can',
  'gives the last lines of what was logged, and none of an instance that is gone, where it can',
  'ends what takes more memory than the instance may have, and nothing else',
  'refuses more processes than the instance may have, and goes on',
]);

export const isForEachRun = (title: string): boolean => eachTime.has(title);
