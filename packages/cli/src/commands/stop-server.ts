import type { Command } from 'commander';
import { type CommandContext, withJson } from '../command-context.ts';
import { withProgress } from '../output/progress.ts';

export function addStopServer(parent: Command, { invocation, screen }: CommandContext): void {
  withJson(parent.command('stop-server').description('end the server of this machine; sandboxes go on'))
    .option('--data <folder>', 'its data folder (or CAISSON_DATA_FOLDER)')
    .action(async (options: { data?: string }) => {
      const { localPlace } = await import('../local-server/data-folder.ts');
      const { stopServer } = await import('../local-server/stop.ts');
      const place = localPlace(options.data, invocation.env);
      const pid = await withProgress(screen, 'ending the server', () => stopServer(place));
      screen.result({ stopped: pid !== undefined, pid: pid ?? null, data: place.folder }, () =>
        pid === undefined ? `no server runs on ${place.folder}` : `ended the server with pid ${pid}`,
      );
    });
}
