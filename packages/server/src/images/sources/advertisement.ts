import { CaissonError } from '@caisson/contract';
import { broken, delimiterPacket, flushPacket, type PacketReader, packet, textOf } from './pkt-line.ts';
import { remoteWords } from './remote-words.ts';

/** A name of a remote, and what it stands for. */
export interface RemoteRef {
  readonly name: string;
  readonly id: string;
  /** Of a tag that is an object of its own: what it is put on. */
  readonly peeled?: string;
  /** Of a name that stands for another. */
  readonly target?: string;
}

/** What a remote says of itself before it is asked anything. */
export type Advertisement =
  | { readonly version: 2; readonly abilities: ReadonlyMap<string, string> }
  | { readonly version: 0; readonly abilities: ReadonlyMap<string, string>; readonly refs: readonly RemoteRef[] };

/** The largest public repositories have some hundred thousand. */
const maxRefs = 500_000;
const maxAbilities = 256;

const idPattern = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** What stands for no commit in a repository without any. */
const noId = /^0+$/;

/** The first answer of a remote, in the old protocol or the new one. */
export async function readAdvertisement(reader: PacketReader): Promise<Advertisement> {
  const first = await firstLine(reader);
  if (first === 'version 2') return { version: 2, abilities: await readAbilities(reader) };
  const refs: RemoteRef[] = [];
  let abilities: ReadonlyMap<string, string> = new Map();
  let line: string | undefined = first === 'version 1' ? await nextText(reader) : first;
  for (let count = 0; line !== undefined; count += 1, line = await nextText(reader)) {
    if (count >= maxRefs) throw broken('it has more names than can be read');
    const [text = '', list] = line.split('\0', 2);
    if (list !== undefined) abilities = oldAbilities(list);
    if (/^shallow /.test(text)) continue;
    const { id, name } = idAndName(text);
    if (noId.test(id)) continue;
    const last = refs.at(-1);
    if (last !== undefined && name === `${last.name}^{}`) refs[refs.length - 1] = { ...last, peeled: id };
    else refs.push({ name, id });
  }
  const head = /(?:^| )symref=HEAD:([^ ]+)/.exec(abilities.get('symrefs') ?? '')?.[1];
  const found = refs.map((ref) => (ref.name === 'HEAD' && head !== undefined ? { ...ref, target: head } : ref));
  return { version: 0, abilities, refs: found };
}

/** The names that begin with one of these; all without any. */
export function askForRefs(prefixes: readonly string[], { abilities }: Advertisement): string {
  return [
    packet('command=ls-refs\n'),
    formatLine(abilities),
    delimiterPacket,
    packet('peel\n'),
    packet('symrefs\n'),
    ...prefixes.map((prefix) => packet(`ref-prefix ${prefix}\n`)),
    flushPacket,
  ].join('');
}

/** The answer to `askForRefs`. */
export async function readRefs(reader: PacketReader): Promise<RemoteRef[]> {
  const refs: RemoteRef[] = [];
  for (let line = await nextText(reader); line !== undefined; line = await nextText(reader)) {
    if (refs.length >= maxRefs) throw broken('it has more names than can be read');
    const [head = '', ...attributes] = splitAttributes(line);
    if (head.startsWith('unborn ')) continue;
    const { id, name } = idAndName(head);
    const peeled = attributes.find((text) => text.startsWith('peeled:'))?.slice(7);
    const target = attributes.find((text) => text.startsWith('symref-target:'))?.slice(14);
    const isPeeled = peeled !== undefined && idPattern.test(peeled);
    refs.push({ name, id, ...(isPeeled ? { peeled } : {}), ...(target === undefined ? {} : { target }) });
  }
  return refs;
}

/** In which form the remote names objects: both sides must say the same. */
export function objectFormat({ abilities }: Advertisement): 'sha1' | 'sha256' {
  return abilities.get('object-format') === 'sha256' ? 'sha256' : 'sha1';
}

export function formatLine(abilities: ReadonlyMap<string, string>): string {
  const format = abilities.get('object-format');
  return format === 'sha1' || format === 'sha256' ? packet(`object-format=${format}\n`) : '';
}

/** One line of a message; undefined at its end. What the remote refuses with is thrown. */
export async function nextText(reader: PacketReader): Promise<string | undefined> {
  const next = await reader.next();
  if (next === undefined) throw broken('it ended in the middle of its answer');
  if (next.kind !== 'line') return undefined;
  const text = textOf(next);
  if (text.startsWith('ERR ')) throw refusedBy(text.slice(4));
  return text;
}

/** What a remote says when it will not: that there is no such repository, mostly. */
export function refusedBy(words: string): CaissonError {
  const code = /not found|does not exist|not exported|no such|access denied|not our ref/i.test(words)
    ? 'source_not_found'
    : 'source_failed';
  return new CaissonError(code, `it says: ${remoteWords(words)}`, { context: { remote: remoteWords(words) } });
}

/** Over HTTP a line that says which service it is, and the end of a message, may stand before it. */
async function firstLine(reader: PacketReader): Promise<string | undefined> {
  const line = await nextText(reader);
  if (line === undefined || !line.startsWith('# service=')) return line;
  if ((await nextText(reader)) !== undefined) throw broken('it does not speak the protocol of git');
  return nextText(reader);
}

async function readAbilities(reader: PacketReader): Promise<ReadonlyMap<string, string>> {
  const abilities = new Map<string, string>();
  for (let line = await nextText(reader); line !== undefined; line = await nextText(reader)) {
    if (abilities.size >= maxAbilities) throw broken('it does not speak the protocol of git');
    const at = line.indexOf('=');
    abilities.set(at < 0 ? line : line.slice(0, at), at < 0 ? '' : line.slice(at + 1));
  }
  return abilities;
}

/** `symref` may stand there several times: they are kept together. */
function oldAbilities(list: string): ReadonlyMap<string, string> {
  const abilities = new Map<string, string>();
  const symrefs: string[] = [];
  for (const word of list.trim().split(' ').slice(0, maxAbilities)) {
    if (word.startsWith('symref=')) symrefs.push(word);
    const at = word.indexOf('=');
    abilities.set(at < 0 ? word : word.slice(0, at), at < 0 ? '' : word.slice(at + 1));
  }
  return abilities.set('symrefs', symrefs.join(' '));
}

function idAndName(text: string): { id: string; name: string } {
  const at = text.indexOf(' ');
  const id = text.slice(0, Math.max(at, 0));
  if (!idPattern.test(id)) throw broken('it does not speak the protocol of git');
  return { id, name: text.slice(at + 1) };
}

/** A name has no space in it. */
function splitAttributes(line: string): string[] {
  const [id = '', name = '', ...attributes] = line.split(' ');
  return [`${id} ${name}`, ...attributes];
}
