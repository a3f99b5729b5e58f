import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaissonError, hasCode, maxEditBytes } from '@caisson/contract';
import type { Files } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import type { FileOptions } from '../commands/files.ts';
import { findSandbox } from '../find-sandbox.ts';
import { printable } from '../output/printable.ts';
import { withProgress } from '../output/progress.ts';
import { baseName } from '../transfer/place.ts';

interface Content {
  readonly bytes: Buffer;
  readonly mode: number | undefined;
}

/**
 * Edits a file on a private copy. It is written back only when the editor changed it, and only when nobody else did
 * meanwhile; what cannot be written back stays in the copy, whose place is told.
 */
export async function editFile(
  ref: string,
  path: string,
  options: FileOptions,
  context: CommandContext,
): Promise<void> {
  const { screen, invocation } = context;
  const { user } = options;
  const { files, before } = await withProgress(screen, `reading ${path}`, async () => {
    const sandbox = await findSandbox(await context.connect(options), ref);
    return { files: sandbox.files, before: await read(sandbox.files, path, user) };
  });
  // Only its owner may look into the folder.
  const folder = await mkdtemp(join(tmpdir(), 'caisson-edit-'));
  const copy = join(folder, (baseName(path) ?? 'file').slice(0, 200));
  await writeFile(copy, before?.bytes ?? '', { mode: 0o600 });
  try {
    await runEditor(copy, invocation.env);
    const after = await readFile(copy);
    if (before?.bytes.equals(after) ?? after.length === 0) {
      screen.result({ path, changed: false }, () => `${printable(path)} is as it was`);
    } else {
      await withProgress(screen, `writing ${path}`, async () => {
        await requireUnchanged(files, path, user, before);
        const mode = before?.mode;
        await files.write(path, after, { user, ...(mode === undefined ? { create: true } : { mode }) });
      });
      screen.result({ path, changed: true }, () => `${printable(path)} is written`);
    }
  } catch (error) {
    if (!screen.wantsJson) screen.note(`your copy is kept: ${copy}`);
    throw error;
  }
  await rm(folder, { recursive: true, force: true });
}

async function read(files: Files, path: string, user: string | undefined): Promise<Content | undefined> {
  try {
    const { size, mode } = await files.stat(path, { user });
    if (size > maxEditBytes) {
      throw new CaissonError('body_too_large', `${path} is too large to edit`, {
        hint: 'Copy it out with `caisson cp`.',
      });
    }
    return { bytes: Buffer.from(await files.read(path, { user, length: maxEditBytes + 1 })), mode };
  } catch (error) {
    if (hasCode(error, 'file_not_found')) return undefined;
    throw error;
  }
}

async function requireUnchanged(
  files: Files,
  path: string,
  user: string | undefined,
  before: Content | undefined,
): Promise<void> {
  const now = await read(files, path, user);
  const same = now === undefined ? before === undefined : before?.bytes.equals(now.bytes) === true;
  if (same) return;
  throw new CaissonError('edit_conflict', `${path} changed in the sandbox while you edited it`, {
    hint: 'Look at the file as it is now, and bring your changes over from the copy.',
  });
}

async function runEditor(file: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const editor = env.VISUAL || env.EDITOR || 'vi';
  // An editor may be a command with options; the file is its last argument, whatever characters it has.
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code === 0) return;
  throw new CaissonError('request_invalid', `the editor ended with ${code ?? 'a signal'}`, {
    hint: `It was ${editor}; set EDITOR to another one.`,
  });
}
