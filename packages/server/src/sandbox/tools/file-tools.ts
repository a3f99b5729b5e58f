import { isUtf8 } from 'node:buffer';
import { extname } from 'node:path';
import type { ToolBlock } from '@caisson/contract';
import { editFile } from '../edit-file.ts';
import { inWorkspace, type ToolContext, type ToolResult, type ToolWorks, text } from './tool.ts';

/** What a model can be shown as it is. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
};

const lineFeed = 10;

export const fileTools: ToolWorks<'read_file' | 'write_file' | 'edit_file'> = {
  read_file: async ({ path, firstLine, lines }, context) => {
    const { bytes, truncated } = await readLines(inWorkspace(context, path), firstLine, lines, context);
    return { content: [blockOf(path, bytes, truncated)], truncated };
  },

  write_file: async ({ path, content, encoding, mode }, context) => {
    const { guest, user, signal } = context;
    const bytes = Buffer.from(content, encoding);
    const entry = await guest.files.write(inWorkspace(context, path), bytes, { user, mode, parents: true, signal });
    return said(`wrote ${entry.size} bytes to ${path}`);
  },

  edit_file: async ({ path, edits }, context) => {
    const { replaced } = await editFile(context.guest, inWorkspace(context, path), edits, context.user);
    return said(`replaced ${replaced} ${replaced === 1 ? 'piece' : 'pieces'} of text in ${path}`);
  },
};

function said(what: string): ToolResult {
  return { content: [text(what)] };
}

function blockOf(path: string, bytes: Buffer, truncated: boolean): ToolBlock {
  // The last character of a part may be cut in two: up to three bytes are not held against it.
  const isText = [0, 1, 2, 3].some((cut) => (cut === 0 || truncated) && isUtf8(bytes.subarray(0, bytes.length - cut)));
  if (isText && !bytes.includes(0)) return text(new TextDecoder().decode(bytes, { stream: true }));
  const mediaType = mediaTypes[extname(path).toLowerCase()] ?? 'application/octet-stream';
  return { type: 'bytes', base64: bytes.toString('base64'), mediaType };
}

/** Bytes from the beginning of a line, no more lines than asked and no more bytes than may be; the rest is not read. */
async function readLines(
  path: string,
  firstLine: number,
  lines: number | undefined,
  { guest, user, signal, maxBytes }: ToolContext,
): Promise<{ bytes: Buffer; truncated: boolean }> {
  const kept: Buffer[] = [];
  let room = maxBytes;
  let toSkip = firstLine - 1;
  let toKeep = lines ?? Number.POSITIVE_INFINITY;
  for await (const chunk of guest.files.read(path, { user, signal })) {
    let at = 0;
    while (toSkip > 0 && at < chunk.byteLength) {
      const end = chunk.indexOf(lineFeed, at);
      if (end === -1) at = chunk.byteLength;
      else {
        at = end + 1;
        toSkip -= 1;
      }
    }
    let end = at;
    while (toKeep > 0 && end < chunk.byteLength) {
      const next = chunk.indexOf(lineFeed, end);
      if (next !== -1) toKeep -= 1;
      end = next === -1 ? chunk.byteLength : next + 1;
    }
    const part = Buffer.from(chunk.subarray(at, Math.min(end, at + room)));
    kept.push(part);
    room -= part.length;
    if (end - at > part.length) return { bytes: Buffer.concat(kept), truncated: true };
    if (toKeep === 0) break;
  }
  return { bytes: Buffer.concat(kept), truncated: false };
}
