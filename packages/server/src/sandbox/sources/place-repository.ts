import { CaissonError } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { checkOut, gitEnvironment, noSuchCommitCode, takePack } from '../../images/sources/git-scripts.ts';
import { type Converse, type FetchedPack, fetchCommit } from '../../images/sources/remote.ts';
import { failureOf, mustRun, runInside } from './run-inside.ts';

/** A commit that is to stand in a folder. */
export interface Checkout {
  readonly directory: string;
  readonly url: string;
  readonly commit: string;
  readonly branch?: string | undefined;
}

export interface Placing {
  readonly guest: GuestClient;
  readonly user: string;
  /** How much has come so far. */
  readonly received: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** Fetches a commit and checks it out inside. The folder is the user's to write in. It may be done again. */
export async function placeRepository(converse: Converse, checkout: Checkout, placing: Placing): Promise<void> {
  const { directory, url, commit, branch = '' } = checkout;
  const { guest, user, signal } = placing;
  const env = gitEnvironment;
  const shallow = await fetchCommit(converse, commit, signal, async (fetched) => {
    const input = counted(fetched, placing.received);
    await mustRun(guest, { text: takePack, args: [directory, fetched.format], user, env, input }, signal);
    return fetched.shallow;
  });
  const input = shallow.map((id) => `${id}\n`).join('');
  const args = [directory, commit, branch, url];
  const ran = await runInside(guest, { text: checkOut, args, user, env, input }, signal);
  if (ran.code === noSuchCommitCode) throw new CaissonError('source_not_found', `it has no commit ${commit}`);
  if (ran.code !== 0) throw failureOf(ran);
}

async function* counted({ pack }: FetchedPack, received: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of pack) {
    bytes += chunk.length;
    received(bytes);
    yield chunk;
  }
}
