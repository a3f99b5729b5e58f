import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CaissonError } from '@caisson/contract';
import type { SnapshotArchive } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import type { ExportCommandOptions } from '../commands/snapshot-content.ts';
import { findSnapshot } from '../find-snapshot.ts';
import { bytesText } from '../output/bytes.ts';
import { printable } from '../output/printable.ts';
import { withProgress } from '../output/progress.ts';
import { writeBytes } from '../sessions/write-bytes.ts';
import { counted } from '../transfer/byte-streams.ts';
import { localFailure } from '../transfer/local-failure.ts';

export async function exportSnapshot(
  ref: string,
  options: ExportCommandOptions,
  context: CommandContext,
): Promise<void> {
  const { screen, invocation } = context;
  const caisson = await context.connect(options);
  const { id } = await findSnapshot(caisson, ref);
  const done = await withProgress(screen, `packing ${ref}`, async (say) => {
    const archive = await caisson.snapshots.export(id, { thin: options.thin });
    const file = options.output ?? archive.fileName;
    let bytes = 0;
    const content = counted(whole(archive), (more) => {
      bytes += more;
      // Only a terminal sees the bytes move; elsewhere each number would be a line.
      if (screen.err.isTTY) say(`exporting ${ref}: ${bytesText(bytes)} of ${bytesText(archive.size)}`);
    });
    if (file === '-') for await (const piece of content) await writeBytes(invocation.stdio().stdout, piece);
    else await writeWhole(file, content);
    return { snapshot: id, file, bytes };
  });
  if (done.file === '-') return;
  screen.result(done, () => `${printable(done.file)} (${bytesText(done.bytes)})`);
}

/** A file that is cut off must not look like one that is whole. */
async function* whole(archive: SnapshotArchive): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of archive.content as unknown as AsyncIterable<Uint8Array>) {
      bytes += piece.byteLength;
      yield piece;
    }
  } catch (cause) {
    if (cause instanceof CaissonError) throw cause;
    throw new CaissonError('server_unreachable', 'the export broke off', { cause });
  }
  if (bytes !== archive.size) throw new CaissonError('server_unreachable', `the export broke off after ${bytes} bytes`);
}

/** It gets its name when all of it is there. */
async function writeWhole(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = join(dirname(file), `.${basename(file).slice(0, 200)}.${randomBytes(6).toString('hex')}`);
  const steps = [
    Readable.from(content, { objectMode: false }),
    ...(file.endsWith('.gz') ? [createGzip({ level: 1 })] : []),
  ];
  try {
    await pipeline([...steps, createWriteStream(draft, { mode: 0o600, flags: 'wx' })]);
    await rename(draft, file);
  } catch (error) {
    await unlink(draft).catch(() => {});
    throw localFailure(error, 'write', file);
  }
}
