import { crc32, deflateRawSync } from 'node:zlib';

/** A member of a zip, with whatever lies about it. */
export interface ZipMember {
  readonly name: string;
  readonly content?: string | Buffer;
  /** Of Unix, with its type; a plain file without. */
  readonly mode?: number;
  readonly flags?: number;
  readonly saidSize?: number;
  readonly saidSum?: number;
  /** Names the content of the member before in place of its own. */
  readonly sharesContent?: boolean;
}

/** A zip written by hand: tools write no hostile ones. */
export function zipOf(members: readonly ZipMember[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  let shared: { at: number; fields: Buffer } | undefined;
  for (const { name, content = '', mode = 0o100644, flags = 0x800, ...lies } of members) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const fields = Buffer.alloc(22);
    fields.writeUInt16LE(flags, 0);
    fields.writeUInt16LE(8, 2);
    fields.writeUInt16LE(0x5a21, 6);
    fields.writeUInt32LE(lies.saidSum ?? crc32(bytes), 8);
    fields.writeUInt32LE(packed.length, 12);
    fields.writeUInt32LE(lies.saidSize ?? bytes.length, 16);
    const own = Buffer.from(name);
    fields.writeUInt16LE(own.length, 20);
    if (!lies.sharesContent || shared === undefined) {
      const local = Buffer.concat([words(0x04034b50, 20), fields, Buffer.alloc(2), own, packed]);
      parts.push(local);
      shared = { at, fields: fields.subarray(0, 20) };
      at += local.length;
    }
    const record = Buffer.concat([shared.fields.subarray(0, 20), fields.subarray(20), Buffer.alloc(16)]);
    if (!lies.sharesContent) fields.copy(record, 0, 0, 20);
    record.writeUInt32LE((mode << 16) >>> 0, 30);
    record.writeUInt32LE(shared.at, 34);
    directory.push(words(0x02014b50, (3 << 8) | 20, 20), record, own);
  }
  const records = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(records.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, records, end]);
}

function words(signature: number, ...versions: number[]): Buffer {
  const head = Buffer.alloc(4 + 2 * versions.length);
  head.writeUInt32LE(signature, 0);
  for (const [index, version] of versions.entries()) head.writeUInt16LE(version, 4 + 2 * index);
  return head;
}
