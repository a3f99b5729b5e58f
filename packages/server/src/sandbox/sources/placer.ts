import { CaissonError, type NetworkRules, type Owner } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { repositoryDirectory } from '@caisson/workspace-composition';
import { inputsRoot } from '../../images/plan/build-steps.ts';
import { sandboxUser } from '../../images/plan/sandbox-user.ts';
import { isCommit } from '../../images/sources/find-ref.ts';
import { resolveRef } from '../../images/sources/remote.ts';
import type { SourceFacts } from '../sources-port.ts';
import { type Contents, isContent } from './contents.ts';
import { type Checkout, type Placing, placeRepository } from './place-repository.ts';
import { placeSubmodules } from './place-submodules.ts';
import { type RemotesOptions, remotesOf } from './remotes.ts';
import { type RoomRequest, type Rooms, roomFolder } from './rooms.ts';
import { hasGit, noGit } from './run-inside.ts';
import { type GitSource, isGit, type NamedSource, naming, type Source } from './source-name.ts';

export interface PlacerOptions extends RemotesOptions {
  readonly guest: GuestClient;
  /** What the sandbox began from. */
  readonly os: RoomRequest['os'];
  readonly owner: Owner;
  readonly rules: NetworkRules;
  readonly contents: Contents;
  readonly rooms?: Rooms | undefined;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

type Input = Extract<Source, { purpose: string }>;

const megabyte = 1024 * 1024;

/** Puts sources where they belong in one sandbox. Everything may be done again from its start. */
export class Placer {
  readonly #options: PlacerOptions;
  #hasGit: boolean | undefined;

  constructor(options: PlacerOptions) {
    this.#options = options;
  }

  async workspace(named: NamedSource, workspaceRoot: string, facts: SourceFacts): Promise<void> {
    const directory = repositoryDirectory(workspaceRoot);
    const { guest, signal } = this.#options;
    // What a try that was cut short left is not the repository.
    await guest.files.remove(directory, { user: 'root', recursive: true, missingOk: true, signal });
    await naming(named, () => this.#place(named, directory, facts.commit, facts.branch));
  }

  async input(named: NamedSource<Input>, fact: string | undefined): Promise<void> {
    const { id, mountPath } = named.source;
    await naming(named, () => this.#place(named, mountPath ?? `${inputsRoot}/${id}`, fact));
  }

  async #place(named: NamedSource, directory: string, fact?: string, branch?: string): Promise<void> {
    const { guest, contents, rules, progress, signal } = this.#options;
    progress(`bringing ${named.name}`);
    const user = await this.#makeFolder(directory);
    if (isGit(named)) await this.#placeGit(named, directory, user, fact, branch);
    if (isContent(named)) {
      const archive = contents.open(named.source, { rules, digest: fact, signal });
      await guest.files.tarIn(directory, archive, { user, signal }).catch((error) => Promise.reject(unpacked(error)));
    }
  }

  async #placeGit(
    named: NamedSource<GitSource>,
    directory: string,
    user: string,
    fact: string | undefined,
    branch: string | undefined,
  ): Promise<void> {
    const { guest, signal, rooms, os, owner, rules, progress } = this.#options;
    const { url, ref } = named.source;
    const converseWith = await remotesOf(this.#options, named, owner, rules);
    const known = fact ?? (isCommit(ref) ? ref : undefined);
    const found = known === undefined ? await resolveRef(converseWith(url), ref, signal) : { commit: known, branch };
    const checkOut = async (where: GuestClient, checkout: Checkout, as: string) => {
      const placing: Placing = { guest: where, user: as, received: this.#received(named), signal };
      await placeRepository(converseWith(url), checkout, placing);
      if (named.source.submodules) await placeSubmodules(checkout, converseWith, placing);
    };
    if (await this.#gitIsThere(user)) return checkOut(guest, { directory, url, ...found }, user);
    if (!rooms) throw noGit();
    await rooms({ os, lacksGit: true, owner, rules, progress, signal }, async (room) => {
      await checkOut(room, { directory: roomFolder, url, ...found }, 'user');
      const files = room.files.tarOut(roomFolder, { user: 'user', signal });
      await guest.files.tarIn(directory, files, { user, signal }).catch((error) => Promise.reject(unpacked(error)));
    });
  }

  async #gitIsThere(user: string): Promise<boolean> {
    const { guest, signal } = this.#options;
    this.#hasGit ??= await hasGit(guest, user, signal);
    return this.#hasGit;
  }

  /** Whose it is from then on: a folder that was there keeps its owner. */
  async #makeFolder(directory: string): Promise<string> {
    const { files } = this.#options.guest;
    const options = { user: 'root', signal: this.#options.signal };
    const isNew = await files.mkdir(directory, { ...options, parents: true });
    if (isNew) await files.chown(directory, sandboxUser, options);
    const { uid } = await files.stat(directory, options);
    return uid === sandboxUser.uid ? sandboxUser.name : 'root';
  }

  #received({ name }: NamedSource): Placing['received'] {
    let told = 0;
    return (bytes) => {
      if (bytes - told < megabyte) return;
      told = bytes;
      this.#options.progress(`bringing ${name}: ${Math.floor(bytes / megabyte)} MiB`);
    };
  }
}

/** What a sandbox cannot take of an archive is the archive's fault; a full disk says so itself. */
function unpacked(error: unknown): unknown {
  if (!(error instanceof CaissonError) || !/^(?:file_|request_invalid)/.test(error.code)) return error;
  return new CaissonError('source_failed', `it cannot be unpacked: ${error.message}`, { cause: error });
}
