import { absorbModules, gitEnvironment, readLinks, readModules } from '../../images/sources/git-scripts.ts';
import type { Converse } from '../../images/sources/remote.ts';
import { maxDepth, readCommits, readSubmodules, type Submodule } from '../../images/sources/submodules.ts';
import { type Placing, placeRepository } from './place-repository.ts';
import { mustRun } from './run-inside.ts';
import { naming } from './source-name.ts';

/** Brings the submodules of a repository that is checked out, each at the commit that it names, and theirs. */
export async function placeSubmodules(
  { directory, url }: { readonly directory: string; readonly url: string },
  converseWith: (url: string) => Converse,
  placing: Placing,
  depth = 0,
): Promise<void> {
  const { guest, user, signal } = placing;
  const run = async (text: string, ...args: string[]) => {
    const ran = await mustRun(guest, { text, args: [directory, ...args], user, env: gitEnvironment }, signal);
    return ran.stdout.toString('utf8');
  };
  const modules = depth < maxDepth ? readSubmodules(await run(readModules), url) : [];
  if (modules.length === 0) return;
  const commits = readCommits(await run(readLinks, ...modules.map(({ path }) => path)));
  const place = async (module: Submodule, commit: string) => {
    const inner = { directory: `${directory}/${module.path}`, url: module.url };
    await placeRepository(converseWith(module.url), { ...inner, commit }, placing);
    await placeSubmodules(inner, converseWith, placing, depth + 1);
  };
  for (const module of modules) {
    const commit = commits.get(module.path);
    if (commit !== undefined) await naming({ name: `its submodule ${module.url}` }, () => place(module, commit));
  }
  await run(absorbModules);
}
