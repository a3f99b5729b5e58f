import { expect, test } from 'vitest';
import { copied, stowPackages, type TopEntry, wayOf } from './dotfiles.ts';

const file = (name: string): TopEntry => ({ name });
const folder = (name: string, ...inner: string[]): TopEntry => ({ name, inner });

test.each<[string, TopEntry[], boolean, string]>([
  ['names of chezmoi', [file('dot_bashrc'), file('README.md')], true, 'chezmoi'],
  ['settings of chezmoi', [file('.chezmoiroot'), folder('home')], false, 'chezmoi'],
  ['packages of stow', [folder('bash', '.bashrc'), folder('vim', '.vimrc'), folder('.git')], false, 'stow'],
  ['settings of stow', [file('.stowrc'), file('.bashrc')], false, 'stow'],
  ['a script of its own', [file('.bashrc'), file('install.sh')], true, 'none'],
  ['plain files', [file('.bashrc'), folder('.config', 'git')], false, 'copy'],
  ['plain files and a folder that has some too', [file('.bashrc'), folder('old', '.vimrc')], false, 'copy'],
])('dotfiles with %s are applied by what they are', (_, entries, hasScript, way) => {
  expect(wayOf('auto', entries, hasScript)).toBe(way);
});

test('what is said outright counts', () => {
  expect(wayOf('copy', [file('dot_bashrc')], true)).toBe('copy');
});

test('only what is meant for a home is copied there, and everything but documents into its settings', () => {
  const entries = [folder('.git'), file('.bashrc'), file('README.md'), folder('nvim', 'init.lua'), file('install.sh')];
  expect(copied(entries, 'home')).toEqual(['.bashrc']);
  expect(copied(entries, 'config')).toEqual(['.bashrc', 'nvim']);
  expect(stowPackages([folder('bash', '.bashrc'), folder('docs', 'a.md'), folder('.git', '.x')])).toEqual(['bash']);
});
