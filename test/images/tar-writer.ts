/** Archives as an attacker, or an unusual builder, would write them. */
export interface TarMember {
  readonly name: string;
  /** As in a header: '0' file, '1' hard link, '2' symbolic link, '3' device, '5' directory, '6' fifo. */
  readonly type?: string;
  readonly link?: string;
  readonly content?: string | Buffer;
  readonly mode?: number;
  readonly owner?: number;
  readonly mtime?: number;
  /** Records of a pax header before the member. */
  readonly pax?: Readonly<Record<string, string | Buffer>>;
  /** What the header says, where it lies. */
  readonly claimedSize?: number;
}

export function tarOf(members: readonly TarMember[], end = true): Buffer {
  const blocks = members.flatMap((member) => [...paxOf(member), ...blocksOf(member)]);
  return Buffer.concat([...blocks, ...(end ? [Buffer.alloc(1024)] : [])]);
}

export const directory = (name: string, more: Partial<TarMember> = {}): TarMember => ({
  name: `${name}/`,
  type: '5',
  mode: 0o755,
  ...more,
});
export const file = (name: string, content: string, more: Partial<TarMember> = {}): TarMember => ({
  name,
  content,
  ...more,
});
export const symlink = (name: string, link: string): TarMember => ({ name, type: '2', link });
export const hardLink = (name: string, link: string): TarMember => ({ name, type: '1', link });

function paxOf({ pax }: TarMember): Buffer[] {
  if (pax === undefined) return [];
  const records = Object.entries(pax).map(([key, value]) => {
    const body = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
    let length = body.length + 1;
    while (String(length).length + body.length !== length) length = String(length).length + body.length;
    return Buffer.concat([Buffer.from(String(length)), body]);
  });
  return blocksOf({ name: 'pax', type: 'x', content: Buffer.concat(records) });
}

function blocksOf(member: TarMember): Buffer[] {
  const content = Buffer.from(member.content ?? '');
  const header = Buffer.alloc(512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(member.name.slice(0, 100), 0);
  header.write(octal(member.mode ?? 0o644, 7), 100);
  header.write(octal(member.owner ?? 0, 7) + octal(member.owner ?? 0, 7), 108);
  header.write(octal(member.claimedSize ?? content.length, 11) + octal(member.mtime ?? 1_600_000_000, 11), 124);
  header.write(member.type ?? '0', 156);
  header.write((member.link ?? '').slice(0, 100), 157);
  header.write('ustar\x0000', 257);
  if (member.type === '3') header.write(octal(1, 7) + octal(3, 7), 329);
  header.fill(' ', 148, 156);
  header.write(
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
  );
  return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
}
