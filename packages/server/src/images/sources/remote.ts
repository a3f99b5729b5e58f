import { CaissonError, hasCode } from '@caisson/contract';
import {
  type Advertisement,
  askForRefs,
  objectFormat,
  type RemoteRef,
  readAdvertisement,
  readRefs,
} from './advertisement.ts';
import { askForPack, canBeShallow, type Fetched, readFetched, type Wanted } from './fetch-request.ts';
import { type FoundRef, findRef, nearRefs, wantedNames } from './find-ref.ts';
import type { PacketReader } from './pkt-line.ts';
import { remoteWords } from './remote-words.ts';

/** One talk with a remote, over whatever carries it. */
export interface Conversation {
  /** What it says before it is asked. */
  readonly greeting: PacketReader;
  ask(request: string): Promise<PacketReader>;
  close(): Promise<void>;
}

/** Begins a talk. Whoever begins one closes it. */
export type Converse = (signal: AbortSignal) => Promise<Conversation>;

export interface FetchedPack extends Fetched {
  readonly format: 'sha1' | 'sha256';
  /** It has the past too, and what was asked for only if it is a part of that. */
  readonly isWhole: boolean;
}

/** So many branches and tags are asked for where the one commit alone is not given. */
const maxTips = 1_000;

/** What the ref stands for at this moment. */
export async function resolveRef(converse: Converse, ref: string | undefined, signal: AbortSignal): Promise<FoundRef> {
  return talk(converse, signal, async (conversation, advertisement) => {
    const refs = await refsOf(conversation, advertisement, wantedNames(ref));
    const found = findRef(refs, ref);
    if (found !== undefined) return found;
    const all = await refsOf(conversation, advertisement, []);
    if (all.length === 0) throw new CaissonError('source_not_found', 'it has no commits yet');
    throw unknownRef(all, ref);
  });
}

/**
 * The files of one commit, without its past; where the remote gives no commit by its name, everything that its branches
 * and tags have. `use` reads the pack to its end.
 */
export async function fetchCommit<T>(
  converse: Converse,
  commit: string,
  signal: AbortSignal,
  use: (fetched: FetchedPack) => Promise<T>,
): Promise<T> {
  const fetch = (wanted: (conversation: Conversation, said: Advertisement) => Promise<Wanted>) =>
    talk(converse, signal, async (conversation, advertisement) => {
      const asked = await wanted(conversation, advertisement);
      const reader = await conversation.ask(askForPack(asked, advertisement));
      const fetched = await readFetched(reader, asked, advertisement);
      return use({ ...fetched, format: objectFormat(advertisement), isWhole: !asked.commits.includes(commit) });
    });
  try {
    return await fetch(async (_, said) => ({ commits: [commit], isShallow: canBeShallow(said) }));
  } catch (error) {
    if (!isUnlisted(error)) throw error;
    return fetch(async (conversation, said) => ({ commits: await tips(conversation, said), isShallow: false }));
  }
}

async function talk<T>(
  converse: Converse,
  signal: AbortSignal,
  work: (conversation: Conversation, advertisement: Advertisement) => Promise<T>,
): Promise<T> {
  const conversation = await converse(signal);
  try {
    return await work(conversation, await readAdvertisement(conversation.greeting));
  } finally {
    await conversation.close();
  }
}

/** The old protocol has said all of them already. */
async function refsOf(
  conversation: Conversation,
  advertisement: Advertisement,
  prefixes: readonly string[],
): Promise<readonly RemoteRef[]> {
  if (advertisement.version === 0) return advertisement.refs;
  return readRefs(await conversation.ask(askForRefs(prefixes, advertisement)));
}

async function tips(conversation: Conversation, advertisement: Advertisement): Promise<readonly string[]> {
  const refs = await refsOf(conversation, advertisement, ['refs/heads/', 'refs/tags/']);
  const ids = refs.filter(({ name }) => /^refs\/(?:heads|tags)\//.test(name)).map(({ id }) => id);
  const found = [...new Set(ids)].slice(0, maxTips);
  if (found.length === 0) throw new CaissonError('source_not_found', 'it has no commits yet');
  return found;
}

/** The remote gives only what a name of it stands for; it may have the commit all the same. */
function isUnlisted(error: unknown): boolean {
  return hasCode(error, 'source_not_found') && /not our ref|unadvertised/i.test(String(error.context.remote ?? ''));
}

function unknownRef(refs: readonly RemoteRef[], ref = 'HEAD'): CaissonError {
  const near = nearRefs(refs, ref).map(remoteWords);
  const isShort = /^[0-9a-f]{4,39}$/.test(ref);
  const names = near.map((name) => `\`${name}\``).join(', ');
  return new CaissonError('source_not_found', `it has no branch or tag \`${ref}\`${names && `; near: ${names}`}`, {
    context: { ref, near },
    ...(isShort ? { hint: 'A commit is given by its whole name: 40 hexadecimal digits.' } : {}),
  });
}
