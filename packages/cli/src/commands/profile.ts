import { type CheckedProfile, profileRef } from '@caisson/contract';
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

  withServer(profile.command('check').description('every fault of a profile; nothing is added'))
    .argument('<file>', 'profile, YAML or JSON; - is the standard input')
    .action(async (file: string, options: ServerChoice) => {
      const checked = await (await context.connect(options)).profiles.check(await read(file, context));
      context.screen.result(checked, () => checkedText(checked));
    });

  withServer(profile.command('add').description('add a version of a profile, for good'))
    .argument('<file>', 'profile, YAML or JSON; - is the standard input')
    .action(async (file: string, options: ServerChoice) => {
      const added = await (await context.connect(options)).profiles.add(await read(file, context));
      if (!added.isNew) context.screen.note('the very same was there already');
      context.screen.result(added, () => profileRef(added.profile));
    });
}

async function read(file: string, { invocation }: CommandContext): Promise<Record<string, unknown>> {
  const { readDocumentObject } = await import('../input/read-spec.ts');
  return readDocumentObject(file, invocation, 'profile_invalid');
}

function checkedText({ profile, isNew, blueprintDigest }: CheckedProfile): string {
  const standing = isNew ? 'could be added' : 'is there already, with the same content';
  return [
    `${profileRef(profile)} ${standing}`,
    `lineage    ${profile.lineage.join(' → ')}`,
    `blueprint  ${blueprintDigest ?? 'depends on its inputs'}`,
  ].join('\n');
}
