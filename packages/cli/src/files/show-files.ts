import { isUtf8 } from 'node:buffer';
import { CaissonError } from '@caisson/contract';
import type { CommandContext } from '../command-context.ts';
import type { FileOptions } from '../commands/files.ts';
import { findSandbox } from '../find-sandbox.ts';
import { writeBytes } from '../sessions/write-bytes.ts';

/** A document is held in memory as a whole. */
const maxJsonBytes = 16 * 1024 * 1024;

export async function showFiles(
  ref: string,
  paths: readonly string[],
  options: FileOptions,
  context: CommandContext,
): Promise<void> {
  const { screen, invocation } = context;
  const { user } = options;
  const { files } = await findSandbox(await context.connect(options), ref);
  if (screen.wantsJson) {
    const items = [];
    for (const path of paths) {
      const { size } = await files.stat(path, { user });
      if (size > maxJsonBytes) {
        throw new CaissonError('body_too_large', `${path} is too large for one document`, {
          hint: 'Leave out --json.',
        });
      }
      const bytes = Buffer.from(await files.read(path, { user, length: maxJsonBytes }));
      const encoding = isUtf8(bytes) ? 'utf8' : 'base64';
      items.push({ path, encoding, content: bytes.toString(encoding) });
    }
    return screen.json({ items });
  }
  const { stdout } = invocation.stdio();
  for (const path of paths) {
    const content = await files.readStream(path, { user });
    try {
      for await (const piece of content as unknown as AsyncIterable<Uint8Array>) await writeBytes(stdout, piece);
    } catch (cause) {
      if (cause instanceof CaissonError) throw cause;
      throw new CaissonError('server_unreachable', `${path} broke off`, { cause });
    }
  }
}
