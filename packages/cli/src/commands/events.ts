import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { fullType } from '../input/event-type.ts';
import { collect, collectKeyValue, parseCount } from '../input/key-value.ts';
import { eventText } from '../output/event-text.ts';

interface EventsOptions extends ServerChoice {
  readonly follow?: boolean;
  readonly after?: number;
  readonly limit?: number;
  readonly project?: string;
  readonly type?: string[];
  readonly label?: Record<string, string>;
}

export function addEvents(parent: Command, context: CommandContext): void {
  withServer(parent.command('events').description('what happened, oldest first; with --json one document a line'))
    .argument('[sandbox]', 'id or name; all of the project when absent')
    .option('-f, --follow', 'what happens from now on, until interrupted; with --after also what happened since')
    .option('--after <position>', 'only after this position of the log; 0 is its beginning', parsePosition)
    .option('--limit <count>', 'end after so many', parseCount)
    .option('-t, --type <type>', 'only of this type: ready, destroyed; may be repeated', collect)
    .option('-l, --label <key=value>', 'only of sandboxes with this label; may be repeated', collectKeyValue)
    .option('--project <name>', 'another project of your tenant')
    .action(async (ref: string | undefined, options: EventsOptions) => {
      const { screen } = context;
      const caisson = await context.connect(options);
      const { follow = false, after, project, limit, label: labels } = options;
      const types = options.type?.map(fullType);
      const { findSandbox } = await import('../find-sandbox.ts');
      const sandbox = ref === undefined ? undefined : await findSandbox(caisson, ref);
      const events = sandbox
        ? sandbox.events({ follow, after, types })
        : caisson.events({ follow, after, project, types, labels });
      let count = 0;
      for await (const event of events) {
        screen.print(screen.wantsJson ? JSON.stringify(event) : eventText(event));
        count += 1;
        if (count === limit) break;
      }
    });
}

function parsePosition(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
