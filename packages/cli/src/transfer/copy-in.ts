import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { CaissonError, hasCode } from '@caisson/contract';
import type { FileEntry, Files } from '@caisson/sdk';
import type { Stdio } from '../invocation.ts';
import { counted, webStream } from './byte-streams.ts';
import type { Copied, CopyEvents } from './copy-out.ts';
import { localFailure } from './local-failure.ts';
import { packFolder } from './pack-folder.ts';
import { inFolder, meansContent, meansFolder, type Outside } from './place.ts';

/** Copies into a sandbox: a file or folder of ours, or the standard input, which is a file or a folder's archive. */
export async function copyIn(
  files: Files,
  source: Outside,
  target: string,
  parents: boolean,
  stdio: Stdio,
  events: CopyEvents,
): Promise<Copied> {
  const { user } = events;
  const there = await entryOf(files, target, user);
  const isThere = there?.kind === 'directory';
  let bytes = 0;
  const upload = new Upload((more) => {
    bytes += more;
    events.count(more);
  });
  if (source.kind === 'stream') {
    if (isThere) await upload.run(stdio.stdin, (body) => files.upload(target, body, { user }));
    else await upload.run(stdio.stdin, (body) => files.write(target, body, { user, parents }));
    return { path: target, kind: isThere ? 'folder' : 'file', bytes };
  }
  const path = source.path;
  const stats = await stat(path).catch((error) => Promise.reject(localFailure(error, 'read', path)));
  // The folder's own name, also when it is written as `.` or `..`.
  const name = basename(resolve(path));
  if (stats.isDirectory()) {
    const place = isThere && !meansContent(path) ? inFolder(target, name) : target;
    if (there !== undefined && !isThere) throw new CaissonError('file_not_directory', `${target} is no folder`);
    const mode = stats.mode & 0o777;
    const isNew = (place !== target || !isThere) && (await files.mkdir(place, { user, parents, mode: mode | 0o700 }));
    await upload.run(packFolder(path, events), (body) => files.upload(place, body, { user }));
    if (isNew && mode !== (mode | 0o700)) await files.chmod(place, mode, { user });
    return { path: place, kind: 'folder', bytes };
  }
  requireFile(path, stats);
  const place = isThere || meansFolder(target) ? inFolder(target, name) : target;
  const options = { user, parents, mode: stats.mode & 0o777 };
  await upload.run(createReadStream(path), (body) => files.write(place, body, options));
  return { path: place, kind: 'file', bytes };
}

function requireFile(path: string, stats: Stats): void {
  // A pipe has bytes like a file: `cp <(command) web:/a`.
  if (stats.isFile() || stats.isFIFO() || stats.isCharacterDevice()) return;
  throw new CaissonError('request_invalid', `${path} is no file and no folder`);
}

async function entryOf(files: Files, path: string, user: string | undefined): Promise<FileEntry | undefined> {
  try {
    return await files.stat(path, { user });
  } catch (error) {
    if (hasCode(error, 'file_not_found')) return undefined;
    throw error;
  }
}

/** Sends a source. When the source itself fails, that is what happened, whatever the request then says. */
class Upload {
  readonly #count: (bytes: number) => void;
  #failure: CaissonError | undefined;

  constructor(count: (bytes: number) => void) {
    this.#count = count;
  }

  async run<T>(
    source: AsyncIterable<Uint8Array | string>,
    send: (body: ReadableStream<Uint8Array>) => Promise<T>,
  ): Promise<T> {
    try {
      return await send(webStream(this.#watched(counted(source, this.#count))));
    } catch (error) {
      throw this.#failure ?? error;
    }
  }

  async *#watched(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* source;
    } catch (error) {
      this.#failure = localFailure(error, 'read', 'the source');
      throw error;
    }
  }
}
