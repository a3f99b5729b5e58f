import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { CommandContext } from '../command-context.ts';
import type { ImportCommandOptions } from '../commands/snapshot-content.ts';
import { bytesText } from '../output/bytes.ts';
import { withProgress } from '../output/progress.ts';
import { counted, webStream } from '../transfer/byte-streams.ts';
import { localFailure } from '../transfer/local-failure.ts';

export async function importSnapshot(
  file: string,
  options: ImportCommandOptions,
  context: CommandContext,
): Promise<void> {
  const { screen, invocation } = context;
  const size =
    file === '-'
      ? undefined
      : (await stat(file).catch((error) => Promise.reject(localFailure(error, 'read', file)))).size;
  const caisson = await context.connect(options);
  const { name, label: labels, project } = options;
  const snapshot = await withProgress(screen, `importing ${file}`, async (say) => {
    let bytes = 0;
    const source = file === '-' ? invocation.stdio().stdin : createReadStream(file);
    const content = counted(readable(source, file), (more) => {
      bytes += more;
      if (bytes === size) say(`unpacking ${file}`);
      else if (screen.err.isTTY)
        say(`sending ${file}: ${bytesText(bytes)}${size === undefined ? '' : ` of ${bytesText(size)}`}`);
    });
    return caisson.snapshots.import(webStream(content), { name, labels, project });
  });
  screen.result(snapshot, () => snapshot.id);
}

/** What cannot be read here is told as such, and not as a fault of the server. */
async function* readable(
  source: AsyncIterable<Uint8Array | string>,
  file: string,
): AsyncGenerator<Uint8Array | string> {
  try {
    yield* source;
  } catch (error) {
    throw localFailure(error, 'read', file);
  }
}
