import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import { shellQuote, shellWords } from '../shell/shell-quote.ts';
import { sandboxUser } from './sandbox-user.ts';

/** Git refuses a repository of somebody else, also to root; this is how it is told that it may. */
const trustEveryRepository = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};

/**
 * A setup step is run by root, so that it can install whatever it wants, in the home of the user who works with it later;
 * what root leaves in that home and in the workspace is the user's. Only that: a change of owner copies a file into the
 * layer.
 */
export function setupScript(
  { workingDirectory, run }: ResolvedImagePlan['steps'][number],
  { env, workspaceRoot }: Pick<ResolvedImagePlan, 'env' | 'workspaceRoot'>,
): string {
  const own = { HOME: sandboxUser.home, ...(env.GIT_CONFIG_COUNT === undefined ? trustEveryRepository : {}) };
  const given = Object.entries(own).filter(([name]) => env[name] === undefined);
  const directory = shellQuote(workingDirectory);
  const home = shellQuote(sandboxUser.home);
  const places = [sandboxUser.home, ...(workspaceRoot === undefined ? [] : [workspaceRoot])];
  return [
    ...given.map(([name, value]) => `export ${name}=${shellQuote(value)}`),
    `mkdir -p ${home} ${directory}`,
    `cd ${directory}`,
    // In a shell of its own: whatever ends it, what follows is done.
    `(\n${run}\n)`,
    ownScript(places),
  ].join('\n');
}

/** Gives the user what is root's. The smallest bases have no `find`, and the others no `--from`. */
export function ownScript(places: readonly string[]): string {
  const { uid, gid } = sandboxUser;
  return [
    'cd /',
    `for place in ${shellWords(places)}; do`,
    '  if [ ! -d "$place" ] || [ -L "$place" ]; then continue; fi',
    '  if command -v find >/dev/null 2>&1',
    `  then find "$place" -xdev -user 0 -exec chown -h ${uid}:${gid} {} +`,
    `  else chown -hR --from=0 ${uid}:${gid} "$place"; fi`,
    'done',
  ].join('\n');
}
