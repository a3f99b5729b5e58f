import { execFileSync } from 'node:child_process';
import { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { bashCompletion } from './bash.ts';
import { commandTree } from './command-tree.ts';
import { fishCompletion } from './fish.ts';
import { zshCompletion } from './zsh.ts';

function program(): Command {
  const root = new Command('caisson').description('top');
  root
    .command('create')
    .description("makes: it's [new]")
    .option('-s, --spec <file>', 'a file')
    .option('--json', 'json');
  root.command('list').addOption(new Option('--state <state>', 'which').choices(['ready', 'failed']));
  const keys = root.command('keys');
  keys.command('revoke').option('--force', 'now');
  keys.command('create');
  return root;
}

function complete(...words: string[]): string[] {
  const script = `${bashCompletion(commandTree(program()))}
COMP_WORDS=(caisson "$@"); COMP_CWORD=$#; _caisson; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' });
  return out.split('\n').filter((line) => line !== '');
}

test('bash completes commands, those below them, options and their values', () => {
  expect(complete('c')).toEqual(['create']);
  expect(complete('')).toEqual(['create', 'list', 'keys']);
  expect(complete('keys', 're')).toEqual(['revoke']);
  expect(complete('create', '--')).toEqual(['--spec', '--json', '--help']);
  expect(complete('keys', 'revoke', '--f')).toEqual(['--force']);
  expect(complete('list', '--state', 'f')).toEqual(['failed']);
  expect(complete('create', '--spec', '/et')).toEqual(['/etc']);
});

test('zsh gets a function for each command, with its texts quoted', () => {
  const script = zshCompletion(commandTree(program()));
  expect(script).toMatch(/^#compdef caisson\n/);
  expect(script).toContain('_caisson_keys_revoke() {');
  expect(script).toContain("'create:makes\\: it'\\''s [new]'");
  expect(script).toContain("'*--state[which]:value:(ready failed)'");
});

test('fish gets a line for each word, under its condition', () => {
  const lines = fishCompletion(commandTree(program())).split('\n');
  expect(lines).toContain("complete -c caisson -n '__fish_use_subcommand' -f -a 'create' -d 'makes: it\\'s [new]'");
  expect(lines).toContain(
    "complete -c caisson -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from revoke' -l force -d 'now'",
  );
  expect(lines).toContain(
    "complete -c caisson -n '__fish_seen_subcommand_from create; and not __fish_seen_subcommand_from keys' -l json -d 'json'",
  );
});
