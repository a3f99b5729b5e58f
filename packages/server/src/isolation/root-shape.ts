import { lstat, readlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** Before it starts, a runtime reads these inside, and waits for ever where one is a pipe. */
const accountFiles = ['/etc/passwd', '/etc/group'];
/** What it mounts on. Some runtimes follow a link there, out of the root filesystem and into the host's. */
const mountPoints = ['/dev', '/proc', '/sys'];
/** Filled only when the sandbox starts: what a link finds there then cannot be known now. */
const mountedLater = /^\/(dev|proc|sys)(\/|$)/;
/** As many as the kernel follows. */
const linksMax = 40;

/** Refuses a root filesystem that an image or a sandbox shaped against the runtime. Nothing may be at work in it yet. */
export async function requireRootShape(root: string): Promise<void> {
  for (const folder of mountPoints) {
    const found = await lookAt(root, folder);
    if (found && !found.isDirectory()) throw refusal(`${folder} of its root filesystem is not a folder`);
  }
  for (const file of accountFiles) {
    const place = await resolveInside(root, file);
    const found = place === undefined ? undefined : await lookAt(root, place);
    if (place === undefined || mountedLater.test(place) || found?.isFile() === false)
      throw refusal(`${file} of its root filesystem is not a file`);
  }
}

function refusal(what: string): CaissonError {
  return new CaissonError('image_invalid', `${what}, and no sandbox is started with it`);
}

/** Where a path leads when `root` is the root: links are read, never followed. Undefined when they lead in a circle. */
async function resolveInside(root: string, path: string): Promise<string | undefined> {
  let [done, todo] = ['/', path.split('/')];
  for (let links = 0; links <= linksMax; ) {
    const [name, ...rest] = todo;
    if (name === undefined) return done;
    const next = posix.join(done, name);
    todo = rest;
    if (!(await lookAt(root, next))?.isSymbolicLink()) {
      done = next;
      continue;
    }
    links += 1;
    const target = await readlink(posix.join(root, next));
    if (target.startsWith('/')) done = '/';
    todo = [...target.split('/'), ...rest];
  }
  return undefined;
}

async function lookAt(root: string, path: string) {
  return await lstat(posix.join(root, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}
