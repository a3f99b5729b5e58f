import { type Advertisement, formatLine, nextText, refusedBy } from './advertisement.ts';
import { broken, delimiterPacket, flushPacket, type PacketReader, packet, textOf } from './pkt-line.ts';

/** What is asked for: these commits, each with so much of its past. */
export interface Wanted {
  readonly commits: readonly string[];
  /** Only the commits themselves, and not what was before them. */
  readonly isShallow: boolean;
}

/** A pack as it arrives, and at which commits it ends before the past does. */
export interface Fetched {
  readonly shallow: readonly string[];
  readonly pack: AsyncGenerator<Buffer, void>;
}

const agent = 'agent=caisson';
const maxShallow = 100_000;

/** Whether the remote can leave the past out. */
export function canBeShallow({ version, abilities }: Advertisement): boolean {
  return version === 2 ? (abilities.get('fetch') ?? '').split(' ').includes('shallow') : abilities.has('shallow');
}

export function askForPack(wanted: Wanted, advertisement: Advertisement): string {
  return advertisement.version === 2 ? newRequest(wanted, advertisement) : oldRequest(wanted, advertisement);
}

function newRequest({ commits, isShallow }: Wanted, { abilities }: Advertisement): string {
  return [
    packet('command=fetch\n'),
    packet(`${agent}\n`),
    formatLine(abilities),
    delimiterPacket,
    packet('ofs-delta\n'),
    packet('no-progress\n'),
    ...(isShallow ? [packet('deepen 1\n')] : []),
    ...commits.map((commit) => packet(`want ${commit}\n`)),
    packet('done\n'),
    flushPacket,
  ].join('');
}

function oldRequest({ commits, isShallow }: Wanted, { abilities }: Advertisement): string {
  const offered = ['side-band-64k', 'ofs-delta', 'no-progress', ...(isShallow ? ['shallow'] : [])];
  const format = abilities.get('object-format');
  const words = [
    ...offered.filter((word) => abilities.has(word)),
    ...(format === undefined ? [] : [`object-format=${format}`]),
    ...(abilities.has('agent') ? [agent] : []),
  ];
  const [first = '', ...others] = commits;
  return [
    packet(`want ${first} ${words.join(' ')}\n`),
    ...others.map((commit) => packet(`want ${commit}\n`)),
    ...(isShallow ? [packet('deepen 1\n')] : []),
    flushPacket,
    packet('done\n'),
  ].join('');
}

/** The answer to `askForPack`. */
export async function readFetched(
  reader: PacketReader,
  { isShallow }: Wanted,
  { version, abilities }: Advertisement,
): Promise<Fetched> {
  if (version === 0 && !abilities.has('side-band-64k')) throw broken('it speaks a protocol that is too old');
  const shallow = version === 2 ? await newHead(reader) : await oldHead(reader, isShallow);
  return { shallow, pack: packBytes(reader) };
}

/** Sections with a name each; the pack is the last. */
async function newHead(reader: PacketReader): Promise<readonly string[]> {
  const shallow: string[] = [];
  for (;;) {
    const section = await nextText(reader);
    if (section === 'packfile') return shallow;
    if (section === undefined) throw broken('it sent no pack');
    for (let line = await nextText(reader); line !== undefined; line = await nextText(reader)) {
      if (section === 'shallow-info') addShallow(shallow, line);
    }
  }
}

async function oldHead(reader: PacketReader, isShallow: boolean): Promise<readonly string[]> {
  const shallow: string[] = [];
  if (isShallow) {
    for (let line = await nextText(reader); line !== undefined; line = await nextText(reader))
      addShallow(shallow, line);
  }
  const answer = await nextText(reader);
  if (answer !== 'NAK') throw broken('it does not speak the protocol of git');
  return shallow;
}

function addShallow(shallow: string[], line: string): void {
  const id = /^shallow ([0-9a-f]{40}|[0-9a-f]{64})$/.exec(line)?.[1];
  if (id === undefined) return;
  if (shallow.length >= maxShallow) throw broken('it does not speak the protocol of git');
  shallow.push(id);
}

/** The first byte of each packet says what it is: 1 the pack, 2 words about progress, 3 why it ends. */
async function* packBytes(reader: PacketReader): AsyncGenerator<Buffer, void> {
  for (;;) {
    const next = await reader.next();
    if (next === undefined) throw broken('it ended in the middle of the pack');
    if (next.kind !== 'line') return;
    const band = next.bytes[0];
    if (band === 1) yield next.bytes.subarray(1);
    else if (band === 3) throw refusedBy(textOf({ bytes: next.bytes.subarray(1) }));
    else if (band !== 2) throw broken('it does not speak the protocol of git');
  }
}
