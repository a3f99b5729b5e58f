import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError, hasCode, networkRulesOf } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { defaultBounds } from '../../images/bounds.ts';
import { forgetWhen, gitEnvironment } from '../../images/sources/git-scripts.ts';
import { resolveRef } from '../../images/sources/remote.ts';
import { unpackTar } from '../../images/unpack.ts';
import type { BuildContext, ContextRequest } from '../sources-port.ts';
import { isContent } from './contents.ts';
import { placeRepository } from './place-repository.ts';
import { placeSubmodules } from './place-submodules.ts';
import { remotesOf } from './remotes.ts';
import { type RoomRequest, roomFolder } from './rooms.ts';
import { mustRun } from './run-inside.ts';
import { type GitSource, isGit, type NamedSource, namedInputs, namedWorkspace, naming } from './source-name.ts';
import type { SourcesOptions } from './sources.ts';

/** What is brought before a build: at which commit or digest, and where its files go. */
interface Wanted {
  readonly named: NamedSource;
  readonly fact: string;
  readonly folder: string;
}

/** The files of a plan's `copy` steps, in a folder of the machine. Nothing of them was run or read by git outside a room. */
export async function makeContext(options: SourcesOptions, request: ContextRequest): Promise<BuildContext> {
  await mkdir(options.contextFolder, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(options.contextFolder, 'context-'));
  const dispose = () => rm(folder, { recursive: true, force: true });
  try {
    const wanted = wantedOf(request, folder);
    if (wanted.length > 0) await mkdir(join(folder, 'inputs'));
    let isOpen = false;
    const bringAll = async (guest?: GuestClient) => {
      isOpen = true;
      for (const one of wanted) await naming(one.named, () => bring(options, request, one, guest));
    };
    const { rooms } = options;
    const git = wanted.find(({ named }) => isGit(named));
    // One room for all of them: opening it takes longer than a small repository does.
    if (!rooms || !git) await bringAll();
    else
      await rooms(roomFor(request), bringAll).catch((error: unknown) =>
        // What it was opened for is named by what failed in it; without a room it is the first that needs one.
        isOpen ? Promise.reject(error) : naming(git.named, () => Promise.reject(error)),
      );
    return { folder, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function roomFor({ blueprint, owner, progress, signal }: ContextRequest): RoomRequest {
  const { target, runtime } = blueprint;
  return { os: target.os, owner, rules: networkRulesOf(runtime.network), progress, signal };
}

function wantedOf({ plan, blueprint }: ContextRequest, folder: string): readonly Wanted[] {
  const workspace = namedWorkspace(blueprint);
  const { repository } = plan;
  const own =
    workspace && repository
      ? [
          {
            named: workspace,
            fact: 'url' in repository ? repository.commit : repository.digest,
            folder: join(folder, 'repository'),
          },
        ]
      : [];
  const inputs = namedInputs(blueprint).flatMap((named) => {
    const { id } = named.source;
    const planned = plan.inputs.find((input) => input.id === id);
    if (planned === undefined) return [];
    const fact = planned.kind === 'git' ? planned.commit : planned.digest;
    return [{ named, fact, folder: join(folder, 'inputs', id) }];
  });
  return [...own, ...inputs];
}

async function bring(
  options: SourcesOptions,
  request: ContextRequest,
  { named, fact, folder }: Wanted,
  guest: GuestClient | undefined,
): Promise<void> {
  const { blueprint, progress, signal } = request;
  const rules = networkRulesOf(blueprint.runtime.network);
  progress(`bringing ${named.name}`);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const unpack = (tar: AsyncIterable<Uint8Array>) =>
    unpackTar(tar, folder, {
      guestProgram: options.guestProgram,
      maxBytes: defaultBounds.layerBytes,
      maxEntries: defaultBounds.layerEntries,
      signal,
    }).catch((error) => {
      if (!hasCode(error, 'image_invalid', 'image_too_large')) throw error;
      throw new CaissonError('source_failed', `it cannot be unpacked: ${error.message}`, { cause: error });
    });
  if (isContent(named)) await unpack(options.contents.open(named.source, { rules, digest: fact, signal }));
  else if (isGit(named)) {
    if (!guest) throw new CaissonError('source_failed', 'this server has no room in which git could unpack it');
    await checkOut(options, request, named, fact, guest);
    await unpack(guest.files.tarOut(roomFolder, { user: 'user', signal }));
    await guest.files.remove(roomFolder, { user: 'root', recursive: true, signal });
  }
}

async function checkOut(
  options: SourcesOptions,
  { blueprint, owner, signal }: ContextRequest,
  named: NamedSource<GitSource>,
  commit: string,
  guest: GuestClient,
): Promise<void> {
  const { url, ref } = named.source;
  const converseWith = await remotesOf(options, named, owner, networkRulesOf(blueprint.runtime.network));
  const checkout = { directory: roomFolder, url, commit, branch: await branchOf() };
  const placing = { guest, user: 'user', received: () => {}, signal };
  await placeRepository(converseWith(url), checkout, placing);
  if (named.source.submodules) await placeSubmodules(checkout, converseWith, placing);
  const script = { text: forgetWhen, args: [roomFolder], user: 'user', env: gitEnvironment };
  await mustRun(guest, script, signal);

  /** The branch may have moved on since; then the workspace is on none. */
  async function branchOf(): Promise<string | undefined> {
    const found = await resolveRef(converseWith(url), ref, signal).catch(() => undefined);
    return found?.commit === commit ? found.branch : undefined;
  }
}
