import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { FileEntry, Files } from '@caisson/sdk';
import type { Stdio } from '../invocation.ts';
import { writeBytes } from '../sessions/write-bytes.ts';
import { counted } from './byte-streams.ts';
import { localFailure } from './local-failure.ts';
import { baseName, meansContent, meansFolder, type Outside } from './place.ts';
import { unpackFolder } from './unpack-folder.ts';

export interface Copied {
  readonly path: string;
  readonly kind: 'file' | 'folder';
  readonly bytes: number;
}

export interface CopyEvents {
  readonly user: string | undefined;
  readonly count: (bytes: number) => void;
  readonly skipped: (path: string, what: string) => void;
}

/** Copies out of a sandbox: to a path here, or a file's bytes or a folder's archive to the standard output. */
export async function copyOut(
  files: Files,
  path: string,
  target: Outside,
  stdio: Stdio,
  events: CopyEvents,
): Promise<Copied> {
  const { user } = events;
  const entry = await files.stat(path, { user });
  const isFolder = entry.kind === 'directory';
  if (!isFolder && entry.kind !== 'file') {
    throw new CaissonError('file_invalid', `${path} is no file and no folder`, { context: { kind: entry.kind } });
  }
  let bytes = 0;
  const count = (more: number) => {
    bytes += more;
    events.count(more);
  };
  const stream = isFolder ? await files.download(path, { user }) : await files.readStream(path, { user });
  const content = counted(arriving(stream), count);
  if (target.kind === 'stream') {
    for await (const piece of content) await writeBytes(stdio.stdout, piece);
    return { path: '-', kind: isFolder ? 'folder' : 'file', bytes };
  }
  const place = await placeOf(target.path, path, isFolder);
  if (isFolder) {
    await mkdir(place, { recursive: true }).catch((error) => Promise.reject(localFailure(error, 'write', place)));
    await unpackFolder(content, place, events);
  } else await writeFile(place, entry, content);
  return { path: place, kind: isFolder ? 'folder' : 'file', bytes };
}

/** What breaks on the way is the server's, whatever the stream calls it. */
async function* arriving(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as unknown as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (cause instanceof CaissonError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CaissonError('server_unreachable', `the copy broke off: ${why}`, { cause });
  }
}

/** As `cp` does: into a folder that is there, under the name it has; otherwise the target is its name. */
async function placeOf(target: string, path: string, isFolder: boolean): Promise<string> {
  const there = await stat(target).catch(() => undefined);
  if (there?.isDirectory() === true) {
    if (isFolder && meansContent(path)) return target;
    const name = baseName(path);
    return name === undefined ? target : join(target, name);
  }
  if (there !== undefined && isFolder) {
    throw new CaissonError('request_invalid', `${target} is no folder`, { hint: 'Name a folder, or a new name.' });
  }
  if (there === undefined && meansFolder(target) && !isFolder) {
    throw new CaissonError('request_invalid', `there is no folder ${target}`, { hint: 'Make it first.' });
  }
  return target;
}

/** A regular file appears whole; a device or pipe that is named is written to as it is. */
async function writeFile(path: string, entry: FileEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  const inPlace = there !== undefined && !there.isFile();
  const draft = inPlace
    ? path
    : join(dirname(path), `.${basename(path).slice(0, 200)}.${randomBytes(6).toString('hex')}`);
  const flags = inPlace ? constants.O_WRONLY | constants.O_TRUNC : 'wx';
  try {
    const file = await open(draft, flags, 0o600);
    try {
      for await (const piece of content) {
        for (let at = 0; at < piece.byteLength; ) at += (await file.write(piece, at)).bytesWritten;
      }
      if (!inPlace) await file.chmod(entry.mode & 0o777);
    } finally {
      await file.close();
    }
    if (!inPlace) await rename(draft, path);
  } catch (error) {
    if (!inPlace) await unlink(draft).catch(() => {});
    throw localFailure(error, 'write', path);
  }
}
