import { profileRef } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { profileText } from '../output/profile-text.ts';
import { table } from '../output/table.ts';

export function addProfile(parent: Command, context: CommandContext): void {
  const profile = parent.command('profile').description('the profiles of this installation');

  withServer(profile.command('list').description('the newest version of each profile')).action(
    async (options: ServerChoice) => {
      const items = await (await context.connect(options)).profiles.list();
      context.screen.result({ items }, () =>
        table(
          ['PROFILE', 'INPUTS', 'DESCRIPTION'],
          items.map((item) => [
            profileRef(item),
            Object.keys(item.inputs ?? {}).join(', ') || '-',
            item.description ?? '',
          ]),
        ),
      );
    },
  );

  withServer(profile.command('get').description('one profile with its ancestors folded in'))
    .argument('<profile>', 'name or name@version')
    .action(async (ref: string, options: ServerChoice) => {
      const found = await (await context.connect(options)).profiles.get(ref);
      context.screen.result(found, () => profileText(found));
    });
}
