import type { Build, BuildState } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseCount } from '../input/key-value.ts';
import { attemptText, buildTable, buildText, logText } from '../output/build-text.ts';

interface ListOptions extends ServerChoice {
  readonly state?: BuildState;
  readonly project?: string;
  readonly limit: number;
}

const states = ['queued', 'running', 'succeeded', 'failed', 'cancelled'];

export function addBuild(parent: Command, context: CommandContext): void {
  const { screen } = context;
  const group = parent.command('build').description('builds of images: a create that needs one begins it');

  withServer(group.command('list').description('builds of the project, newest first'))
    .addOption(new Option('--state <state>', 'only those in this state').choices(states))
    .option('--project <name>', 'another project of your tenant')
    .option('--limit <count>', 'at most so many', parseCount, 20)
    .action(async (options: ListOptions) => {
      const { state, project, limit } = options;
      const caisson = await context.connect(options);
      const items: Build[] = [];
      for await (const build of caisson.builds.list({ state, project }, { limit: Math.min(limit, 200) })) {
        if (items.push(build) >= limit) break;
      }
      screen.result({ items }, () => (items.length === 0 ? 'no builds' : buildTable(screen, items)));
    });

  withServer(group.command('get').description('one build: its steps, their times, why it failed'))
    .argument('<build>', 'id')
    .action(async (id: string, options: ServerChoice) => {
      const build = await (await context.connect(options)).builds.get(id);
      screen.result(build, () => buildText(screen, build));
    });

  withServer(group.command('logs').description('what its steps wrote; with --json one document a line'))
    .argument('<build>', 'id')
    .option('-f, --follow', 'and what they write from now on, until the build has ended')
    .action(async (id: string, options: ServerChoice & { follow?: boolean }) => {
      const { builds } = await context.connect(options);
      for await (const item of options.follow ? builds.follow(id) : builds.logs(id)) {
        if (screen.wantsJson) screen.print(JSON.stringify(item));
        else screen.out.write(logText(screen, item));
      }
    });

  withServer(group.command('cancel').description('stop a build; sandboxes that wait for it fail'))
    .argument('<build>', 'id')
    .action(async (id: string, options: ServerChoice) => {
      const build = await (await context.connect(options)).builds.cancel(id);
      screen.result(build, () => `${build.id} is ${build.state}`);
    });
}

export function addAttempt(parent: Command, context: CommandContext): void {
  const group = parent.command('attempt').description('tries at build and launch: what exactly ran');
  withServer(group.command('show').description('everything that one was made of; also of a sandbox that is gone'))
    .argument('<sandbox|attempt>', 'id of an attempt, or id or name of a sandbox, whose newest it is')
    .action(async (ref: string, options: ServerChoice) => {
      const caisson = await context.connect(options);
      const { findAttempt } = await import('../find-attempt.ts');
      const attempt = await findAttempt(caisson, ref);
      context.screen.result(attempt, () => attemptText(attempt));
    });
}
